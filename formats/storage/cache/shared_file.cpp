#include "bale/formats/storage/cache/shared_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/temporary_file.hpp"

namespace bale {

File open_shared_file(const std::string& path, std::uint64_t size) {
  if (!path_exists(path)) {
    const std::string name = join_path(parent_directory(path), temporary_name());
    File made = File::create(name);
    // A page of a mapping that has no place on a full disk would raise SIGBUS when it is written.
    const int failed = ::posix_fallocate(made.fd(), 0, static_cast<off_t>(size));
    // A name that another process has given by now stays. Without hard links the last one wins.
    const bool is_named = failed != 0 || ::link(name.c_str(), path.c_str()) == 0 || errno == EEXIST;
    if (!is_named) ::rename(name.c_str(), path.c_str());
    ::unlink(name.c_str());
    if (failed != 0) {
      errno = failed;
      throw_errno("write", path);
    }
  }
  return File::open_update(path);
}

}  // namespace bale
