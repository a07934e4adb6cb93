// WorkerConfig: what a worker must know before its first row. All workers of a loader get the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/field_places.hpp"

namespace bale::loader_detail {

struct WorkerConfig {
  LoaderOptions options{};               // checked, with complete fields; of order and mixing, workers know nothing
  std::vector<FieldRoom> field_rooms{};  // one per field
  bool may_have_seek_points = true;      // false: no shard has a file of them
  std::uint64_t num_samples = 0;         // of the dataset
  std::vector<std::string> shards{};     // paths, by shard number
  std::vector<std::string> digests{};    // of the shards as the manifest says, empty if none does
  std::vector<std::vector<std::string>> layers{};  // files of the layers of each version that is read
  std::vector<std::uint32_t> layers_of{};          // numbers in `layers`, by shard number; empty if there are none
};

std::vector<std::byte> pack_config(const WorkerConfig& config);
/// Throws `damaged`.
WorkerConfig unpack_config(Bytes bytes);

}  // namespace bale::loader_detail
