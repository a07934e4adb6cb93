#include "bale/formats/storage/cache/shared/url_lock.hpp"

#include <fcntl.h>

#include <cerrno>
#include <thread>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/cache/shared/shared_file.hpp"

namespace bale {
namespace {

constexpr auto k_pause = std::chrono::milliseconds(10);

}  // namespace

UrlLock::UrlLock(const std::string& path, std::string_view name, std::chrono::seconds patience) {
  try {
    file_ = FileLock(open_shared_file(path, 1));
  } catch (const Error&) {
    return;
  }
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(hash_key(name) >> 2);  // of two names with one byte, one waits for the other
  byte.l_len = 1;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::fcntl(file_.fd(), F_OFD_SETLK, &byte) != 0) {
    const bool is_taken = errno == EAGAIN || errno == EACCES || errno == EINTR;
    if (!is_taken || std::chrono::steady_clock::now() > end) return;
    poll_remote_wait();
    std::this_thread::sleep_for(k_pause);
  }
}

}  // namespace bale
