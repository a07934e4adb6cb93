#include "bale/formats/storage/cache/shared/shared_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/temporary_file.hpp"

namespace bale {
namespace {

bool is_regular(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return false;
  if (S_ISREG(info.st_mode)) return true;
  std::error_code ignored;  // a directory that is not empty stays, and opening it fails
  std::filesystem::remove(path, ignored);
  return false;
}

}  // namespace

File open_shared_file(const std::string& path, std::uint64_t size, Bytes head) {
  if (!is_regular(path)) {
    const std::string name = join_path(parent_directory(path), temporary_name());
    File made = File::create(name);
    try {
      made.reserve(size);
      if (!head.empty()) made.write_at(0, head);
    } catch (const Error&) {
      ::unlink(name.c_str());
      throw;
    }
    // A name that another process has given by now stays. Without hard links the last one wins.
    const bool is_named = ::link(name.c_str(), path.c_str()) == 0 || errno == EEXIST;
    if (!is_named) ::rename(name.c_str(), path.c_str());
    ::unlink(name.c_str());
  }
  return File::open_update(path);
}

FileMapping map_shared_file(const std::string& path, std::uint64_t size) {
  File file = open_shared_file(path, size);
  file.reserve(size);
  return {file, size};
}

}  // namespace bale
