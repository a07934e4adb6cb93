#include "bale/formats/litdata/litdata.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/litdata/config.hpp"

namespace bale::litdata {

/// Sizes are compared when a chunk is scanned.
std::optional<std::vector<std::string>> list_directory(const std::string& directory) {
  const auto config = read_config(directory);
  if (!config) return std::nullopt;
  std::vector<std::string> names;
  for (const ListedChunk& chunk : config->chunks) {
    if (remote_storage_of(directory) == nullptr && !path_exists(join_name(directory, chunk.name))) {
      throw Error(ErrorCode::not_found,
                  fmt::format("the chunk \"{}\" that it lists is not there", printable(chunk.name)),
                  {.path = join_name(directory, "index.json"), .hint = "copy it again"});
    }
    names.push_back(chunk.name);
  }
  return names;
}

}  // namespace bale::litdata
