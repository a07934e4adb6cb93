#include "bale/formats/storage/url_storage.hpp"

#include "bale/formats/storage/process_files.hpp"

namespace bale {
namespace {

ProcessFiles& files() { return ProcessFiles::of_process(); }

}  // namespace

std::shared_ptr<const RemoteFile> UrlStorage::open(const std::string& name) const {
  return files().open(locate_(name));
}
bool UrlStorage::exists(const std::string& name) const { return files().exists(locate_(name)); }

std::uint64_t UrlStorage::Cache::bytes() const { return files().cache_bytes(); }
std::uint64_t UrlStorage::Cache::free_bytes() const { return files().free_cache_bytes(); }
std::uint64_t UrlStorage::Cache::max_bytes_ahead() const { return files().max_bytes_ahead(); }
std::optional<File> UrlStorage::Cache::local_copy(const std::string& name) const {
  return files().local_copy(locate_(name));
}
std::optional<std::vector<std::byte>> UrlStorage::Cache::kept(const std::string& name, std::string_view kind) const {
  return files().kept(locate_(name), kind);
}
void UrlStorage::Cache::keep(const std::string& name, std::string_view kind, Bytes content) const {
  files().keep(locate_(name), kind, content);
}
void UrlStorage::Cache::forget(const std::string& name) const { files().forget(locate_(name)); }
void UrlStorage::Cache::refresh(const std::string& name) const { files().refresh(*locate_(name)); }

}  // namespace bale
