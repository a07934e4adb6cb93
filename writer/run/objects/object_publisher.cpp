#include "bale/writer/run/objects/object_publisher.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

/// Whether the object has this content.
bool has_text(const ObjectStore& store, const std::string& name, const std::string& text) {
  const auto content = store.read(name);
  return content && as_text(*content) == text;
}

/// Readers of this machine believe for a minute what the cache knows of a file.
void forget_versions(const std::string& name) {
  if (const Storage* const storage = remote_storage_of(name)) storage->ask_again(name);
}

}  // namespace

void ObjectPublisher::file(const PlannedDataset& dataset, const std::string& name, const std::string& text) {
  destination_.store_file(below_destination(dataset.subdirectory, name), text);
}

void ObjectPublisher::manifest(const PlannedDataset& dataset, const std::string& text) {
  manifests_.emplace_back(below_destination(dataset.subdirectory, k_manifest_name), text);
}

std::vector<PackReport::Replaced> ObjectPublisher::finish() {
  const ObjectStore& store = destination_.store();
  destination_.require_owned();
  destination_.require_unchanged();
  destination_.abort_uploads();
  destination_.remove_replaced();
  for (const auto& [name, text] : manifests_) {
    // The same content is that of an earlier try, or of another run of the same plan.
    if (store.put_if_absent(name, as_bytes(text)) || has_text(store, name, text)) continue;
    throw Error(ErrorCode::exists, "another program has published a dataset here",
                {.path = store.name_of(name), .hint = "replace it with `overwrite`, or choose another prefix"});
  }
  try {
    // A run that replaces this one looks for manifests after it took its place: one of the two sees the other.
    destination_.require_owned();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::changed) withdraw();
    throw;
  }
  destination_.clear();
  for (const auto& [name, text] : manifests_) forget_versions(store.name_of(name));
  return std::move(replaced_);
}

void ObjectPublisher::withdraw() const {
  for (const auto& [name, text] : manifests_) {
    if (has_text(destination_.store(), name, text)) destination_.store().remove(name);
  }
}

}  // namespace bale
