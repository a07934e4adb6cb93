// The manifest of a dataset in an object store: read as it is, and replaced if no other run did so in the meantime.
//
// Threads: any number. Errors: those of requests. Readers of this machine, which believe for a minute what they know of
// an object, then ask the server again.
#pragma once

#include <optional>
#include <string>

#include "bale/formats/storage/objects/object_store.hpp"

namespace bale {

struct ManifestFile {
  std::string text{};
  std::string etag{};  // in an object store
};

/// nullopt if there is none.
std::optional<ManifestFile> read_object_manifest(const ObjectStore& store);

/// Stores the manifest `text` in the place of `base`. Throws `retryable` if another run published one in the meantime.
/// Of servers without conditional writes (If-Match) two runs that publish at the same moment may both be told that they
/// did: the later one's manifest is there.
void replace_object_manifest(const ObjectStore& store, const std::string& directory, const ManifestFile& base,
                             const std::string& text);

/// Whether the object has this content.
bool has_text(const ObjectStore& store, const std::string& name, const std::string& text);

void forget_version(const std::string& name);

}  // namespace bale
