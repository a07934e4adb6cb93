// index.json: the list of the shards of an MDS dataset.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bale::mds {

/// Format::list.
std::optional<std::vector<std::string>> list_directory(const std::string& directory);

/// Format::classes: the member "classes", which bale.to_mds() writes and Streaming ignores.
std::vector<std::string> listed_classes(const std::string& directory);

}  // namespace bale::mds
