// Warnings about a packed dataset that is a source; internal.
#pragma once

#include <cstdint>
#include <functional>

#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"

namespace bale {

/// About `size` samples, whose keys are those of `keys`: at(i) is the number of sample `i` in the dataset.
NoticeLog notices_of_packed(const Dataset& dataset, const SampleKeys& keys, std::uint64_t size,
                            const std::function<std::uint64_t(std::uint64_t)>& at);

/// Whether the keys are those that bale makes for shards without keys: the folders in them are shards, not classes.
bool has_made_keys(const Dataset& dataset);

/// Of a dataset without labels: a field that is called so.
NoticeLog label_fields_notice(const Dataset& dataset);

}  // namespace bale
