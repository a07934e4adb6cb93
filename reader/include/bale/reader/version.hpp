// Versions of a packed dataset. A version is a manifest: the current one is DIRECTORY/manifest.json, and each that was
// replaced by `bale add`, `remove` or `set` is kept as DIRECTORY/versions/ID.json, as it was. Shards keep their names
// and bytes, so that every version that is kept can be read: its spec is "DIRECTORY@ID", on a disk or a server.
//
// The id is a hash of the content of the shards and layers in order: 16 hex digits, the same for every copy of the
// content and for any number of jobs, whatever the dataset's history. In a spec its first digits are enough, at least
// 4, if no other version has them.
//
// Threads: all functions may be called by many threads at once. Errors: those of reading files; `damaged` for a
// manifest that is not the version that it is kept as.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/manifest.hpp"

namespace bale {

inline constexpr std::string_view k_versions_name = "versions";

/// The id of a content, by Dataset::identity().
std::string version_id(std::uint64_t identity);
std::string version_id(const Manifest& manifest);

/// Name of the file of a version that was replaced, below its dataset's directory: "versions/ID.json".
std::string kept_version(std::string_view id);

struct DatasetVersion {
  std::string id;
  std::uint64_t num_samples = 0;
  std::uint64_t num_shards = 0;
  std::uint64_t num_bytes = 0;  // of shard files
  std::string parent{};         // id; empty: the first one
  ManifestChange change{};
  std::string created_by{};
  std::string gone{};  // why its manifest was removed: "pruned"; then only id and parent are known. Empty: it is kept
};

/// The versions of the dataset in a directory, from the current one, or from the one that `newest` names, to the first,
/// as far as they are known. Throws `not_found` if the directory has no manifest.
std::vector<DatasetVersion> dataset_versions(const std::string& directory, const std::string& newest = {});

/// The ids of the versions in a directory that were replaced and are kept, also of those to which no other one leads.
/// Throws `unsupported` for a server that has no listings.
std::vector<std::string> replaced_versions(const std::string& directory);

/// A directory and what its spec has after the '@'.
struct VersionSpec {
  std::string directory;
  std::string id;  // or its beginning
};
/// nullopt if the spec is not of this form. Looks at no file: a file may have such a name, too.
std::optional<VersionSpec> split_version(const std::string& spec);
/// Whether the spec names a version of a packed dataset that is there, and no file or directory.
bool names_version(const std::string& spec);
/// The spec of a version of the dataset `spec`; the same spec if `version` is empty. Throws `invalid_argument` for a
/// list of several datasets.
std::string with_version(const std::string& spec, std::string_view version);

/// The full id of the version that `named` means; it may be gone. Throws `not_found` if there is none,
/// `invalid_argument` if several begin so.
std::string find_version(const VersionSpec& named);

/// The error of loading the state of a training run that read version `saw` of the dataset `spec`, whose version is
/// `now`, in epoch `epoch`, nullopt if what loads it has no epochs: with what to do if `saw` is kept.
Error other_version_error(const std::string& spec, std::uint64_t saw, std::uint64_t now,
                          std::optional<std::uint64_t> epoch);

}  // namespace bale
