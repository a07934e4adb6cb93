#include "bale/formats/base/file_stamp.hpp"

#include <sys/stat.h>

#include "bale/formats/base/storage.hpp"

namespace bale {

FileStamp FileStamp::of(const std::string& path) {
  struct stat info {};
  if (remote_storage_of(path) != nullptr || ::stat(path.c_str(), &info) != 0) return {};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .bytes = static_cast<std::uint64_t>(info.st_size),
          .seconds = info.st_mtim.tv_sec,
          .nanoseconds = info.st_mtim.tv_nsec};
}

}  // namespace bale
