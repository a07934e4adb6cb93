// index.json as the list of a LitData dataset's chunks.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bale::litdata {

/// Format::list.
std::optional<std::vector<std::string>> list_directory(const std::string& directory);

}  // namespace bale::litdata
