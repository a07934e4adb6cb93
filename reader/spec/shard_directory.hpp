// Shards in a directory without a manifest, as other tools write them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"

namespace bale {

/// The shards that a list next to them names, in its order: the list of a format that keeps one (Format::list). nullopt
/// if the directory, on a disk or a server, has no such list. Throws what Format::list throws.
std::optional<std::vector<std::string>> shards_in_own_list(const std::string& directory);

/// Names of the classes of shards that have no manifest, as the lists of their directories say (Format::classes); empty
/// if none does. Throws `invalid_argument` if the directories have different classes.
std::vector<std::string> classes_in_own_lists(const std::vector<std::string>& shards);

/// The shards of shards_in_own_list(); else files of the directory that are named like a format's shards; if there are
/// none, files that a format recognizes by content. Sorted by bytes, not recursive. Throws `not_found` if there are
/// none, and `damaged` for a directory that an interrupted `bale pack` left, because its shards are not the whole
/// dataset.
std::vector<std::string> list_shards(const std::string& directory);

/// What the directory of these shards, which were found in it, has besides and is not read: shards under other names,
/// images, directories of either. Files of one extension are looked into once.
NoticeLog not_read_beside(const std::vector<std::string>& shards, const std::string& directory);

/// Whether a directory has the layers of a dataset, such as lists of samples that were removed, without its manifest.
bool has_lost_layers(const std::string& directory);

/// Whether the file is named like a shard of a built-in format, but for the case of letters.
bool is_called_as_shard(const std::string& name);

/// Whether bale writes a file or directory of this name next to shards: manifest, indexes, seek points, what other
/// readers want, the ledger of skipped samples and their quarantine.
bool is_beside_shards(const std::string& path);

}  // namespace bale
