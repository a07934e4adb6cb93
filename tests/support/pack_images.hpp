// Packs a source with the options that most tests use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/registry/registry.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::test {

/// Packs `source` into shards of `shard_samples` each, named data-..., and returns the dataset's directory.
inline std::string pack_images(const Source& source, const std::string& destination, std::string_view format,
                               std::uint64_t shard_samples, bool seek_points = false) {
  PackOptions options{.destination = destination, .format = find_format(format), .name = "data"};
  options.sizing.shard_samples = shard_samples;
  options.seek_points = seek_points;
  Progress progress;
  pack(source, options, progress);
  return destination;
}

}  // namespace bale::test
