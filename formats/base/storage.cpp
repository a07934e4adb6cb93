#include "bale/formats/base/storage.hpp"

#include <algorithm>
#include <atomic>

#include "bale/formats/base/file.hpp"

namespace bale {
namespace {

std::atomic<const Storage*> remote_storage{nullptr};
std::atomic<bool> is_interrupted{false};

}  // namespace

void set_remote_storage(const Storage* storage) { remote_storage.store(storage); }

const Storage* remote_storage_of(std::string_view name) {
  if (name.find("://") == std::string_view::npos) return nullptr;  // no other name is a URL: cheap for local paths
  const Storage* const storage = remote_storage.load();
  return storage != nullptr && storage->serves(name) ? storage : nullptr;
}

std::string join_name(const std::string& directory, std::string_view file) {
  const Storage* const storage = remote_storage_of(directory);
  return storage != nullptr ? storage->join(directory, file) : join_path(directory, file);
}

std::string with_suffix(const std::string& name, std::string_view suffix) {
  // What follows '?' in the name of a web page is its query, which is the same for its neighbors.
  const bool is_web = remote_storage_of(name) != nullptr && (name.starts_with("http") || name.starts_with("HTTP"));
  const std::size_t end = std::min(is_web ? name.find('?') : std::string::npos, name.size());
  return name.substr(0, end) + std::string(suffix) + name.substr(end);
}

void interrupt_remote_reads() { is_interrupted.store(true); }
bool are_remote_reads_interrupted() { return is_interrupted.load(std::memory_order_relaxed); }

}  // namespace bale
