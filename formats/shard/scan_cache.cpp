#include "bale/formats/shard/scan_cache.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale {
namespace {

/// Names what is kept. The number is to be raised when a scan of the same bytes gives another index.
constexpr std::string_view k_kind = "scan 2";

std::optional<ShardIndex> remembered(const Storage& storage, const std::string& path) {
  auto content = storage.cache().kept(path, k_kind);
  if (!content) return std::nullopt;
  try {
    return ShardIndex::from_bytes(std::move(*content), path);
  } catch (const Error&) {  // it was damaged in the cache
    return std::nullopt;
  }
}

}  // namespace

ShardIndex scan_or_remember(const std::string& path, const Format& format) {
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr) return scan_shard(path, format);
  if (auto index = remembered(*storage, path)) return *std::move(index);
  ShardIndex index = scan_shard(path, format);
  if (index.notices().empty()) storage->cache().keep(path, k_kind, index.bytes());
  return index;
}

bool needs_scan(const std::string& path) {
  const Storage* const storage = remote_storage_of(path);
  return storage != nullptr && !path_exists(index_path(path)) && !remembered(*storage, path);
}

}  // namespace bale
