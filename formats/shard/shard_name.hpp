// The names of a dataset's files: its shards, and the files next to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bale/formats/shard/format.hpp"

namespace bale {

/// File name of shard `number` of the dataset's `count` shards.
std::string shard_file_name(const Layout& layout, std::string_view dataset, std::uint64_t number, std::uint64_t count);

/// Whether a file name ends as this layout's shards do.
bool has_shard_name(const Layout& layout, std::string_view file);

/// "x-00001-of-00004.tar": the name is x, the suffix .tar.
struct CountedName {
  std::string dataset;
  std::uint64_t number = 0;
  std::string count;  // with its zeros
  std::string suffix;
};

/// nullopt if the name does not count the shards.
std::optional<CountedName> counted_name(std::string_view file);

/// Path of a sidecar of the shard `shard_path`.
std::string sidecar_path(std::string_view shard_path, const Layout& layout, const Sidecar& sidecar);

}  // namespace bale
