// What a session needs to deliver batches before all shards are counted.
//
// A dataset without index and manifest says how many samples it has when all its shards were scanned. In stored order
// the first samples are known before that. So the session follows the order of a dataset without an end, opens a batch
// when all its samples are counted, and takes the right order when all shards are: up to there both are the same.
#pragma once

#include <cstdint>

#include "bale/loader/loader_options.hpp"
#include "bale/loader/session/batch_stream.hpp"
#include "bale/reader/dataset.hpp"

namespace bale::loader_detail {

/// Samples of a dataset that is not counted.
inline constexpr std::uint64_t k_uncounted = std::uint64_t{1} << 60;

/// Whether these options need no number of samples before the first batch.
bool can_count_later(const LoaderOptions& options);

/// Identifies dataset and order by the names of the shards.
std::uint64_t fingerprint_of_names(const Dataset& dataset, const LoaderOptions& options);

/// Whether the sample in the n-th row of a stream of an uncounted dataset is known. Counts what can be counted without
/// waiting. Never throws; the readers will hit the same error.
bool is_ready(const Dataset& dataset, const BatchStream& stream, std::uint64_t n);

}  // namespace bale::loader_detail
