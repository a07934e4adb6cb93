#include "bale/formats/base/file_bytes.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/mapping_count.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

/// A process may have 65,530 mappings (vm.max_map_count), and its other parts need some.
constexpr int k_max_mapped_files = 16'384;
constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 40;
/// A file up to this size is read: a mapping takes at least a page, and the kernel's record of it.
constexpr std::uint64_t k_least_mapped_bytes = 16 << 10;

}  // namespace

FileBytes FileBytes::load(const std::string& path) {
  const auto bytes = file_size(path);
  if (bytes && *bytes < k_least_mapped_bytes) return FileBytes(read_file(path));
  if (num_mapped_files() >= k_max_mapped_files) return FileBytes(read_file(path, k_max_bytes));
  FileBytes file;
  try {
    file.mapping_ = FileMapping(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || remote_storage_of(path) == nullptr) throw;
    return FileBytes(read_file(path, k_max_bytes));
  }
  file.bytes_ = file.mapping_.bytes();
  return file;
}

}  // namespace bale
