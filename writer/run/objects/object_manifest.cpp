#include "bale/writer/run/objects/object_manifest.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/reader/version.hpp"
#include "bale/writer/publish/run_decision.hpp"

namespace bale {

std::optional<ManifestFile> read_object_manifest(const ObjectStore& store) {
  forget_version(store.name_of(k_manifest_name));
  std::optional<ObjectContent> found = store.read_with_etag(k_manifest_name);
  if (!found) return std::nullopt;
  return ManifestFile{.text = std::string(as_text(found->bytes)), .etag = std::move(found->etag)};
}

void replace_object_manifest(const ObjectStore& store, const std::string& directory, const ManifestFile& base,
                             const std::string& text) {
  store.replace(k_manifest_name, base.etag, as_bytes(text));
  // Looked at in any case: an earlier try may have stored it, and a server without conditions lets another run replace
  // it at once.
  const std::optional<ManifestFile> now = read_object_manifest(store);
  if (now && now->text == text) return;
  const std::string name = store.name_of(k_manifest_name);
  if (!now) {
    throw Error(ErrorCode::retryable, "another run removed the dataset", {.path = name, .hint = "see what is there"});
  }
  throw other_version_published(directory, parse_manifest(now->text, name),
                                version_id(parse_manifest(base.text, name)));
}

bool has_text(const ObjectStore& store, const std::string& name, const std::string& text) {
  const auto content = store.read(name);
  return content && as_text(*content) == text;
}

void forget_version(const std::string& name) {
  if (const Storage* const storage = remote_storage_of(name)) storage->cache().refresh(name);
}

}  // namespace bale
