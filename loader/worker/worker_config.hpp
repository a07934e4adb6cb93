// WorkerConfig: what a worker must know before its first row. All workers of a loader get the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::loader_detail {

struct WorkerConfig {
  Transform transform;
  std::vector<Transform> further_views;
  std::uint64_t seed = 0;
  std::uint64_t max_pixels = 0;
  bool verify_checksums = true;
  bool direct_io = false;
  bool may_have_seek_points = true;    // false: no shard has a file of them
  std::uint64_t num_samples = 0;       // of the dataset
  std::uint64_t device_pixels = 0;     // plain JPEGs of up to this many pixels are left to a device
  std::string field;                   // empty: the sample's first image field
  std::string label_field;             // empty: the loader knows the labels
  std::vector<Field> fields;           // next to the image; complete
  std::vector<FieldRoom> field_rooms;  // one per field
  std::string directory;               // relative shard paths start here
  std::vector<std::string> shards;     // paths, by shard number
  std::vector<std::string> digests;    // of the shards as the manifest says, empty if none does
};

std::vector<std::byte> pack_config(const WorkerConfig& config);
/// Throws `damaged`.
WorkerConfig unpack_config(Bytes bytes);

}  // namespace bale::loader_detail
