#include "bale/loader/worker/process/startup_messages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "bale/loader/ring/high_descriptor.hpp"

namespace bale::loader_detail {
namespace {

constexpr off_t k_longest_line = 300;

}  // namespace

StartupMessages::StartupMessages() {
  fd_ = memory_descriptor("bale worker messages");
  if (fd_ >= 0) ::fcntl(fd_, F_SETFL, O_APPEND);
}

StartupMessages::~StartupMessages() {
  if (fd_ >= 0) ::close(fd_);
}

std::string StartupMessages::take_last_line() {
  if (fd_ < 0) return "";
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  const off_t begin = end > k_longest_line ? end - k_longest_line : 0;
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  const ssize_t size = ::pread(fd_, text.data(), text.size(), begin);
  if (size <= 0 || ::ftruncate(fd_, 0) != 0) return "";
  text.resize(static_cast<std::size_t>(size));
  text.erase(text.find_last_not_of(" \n\r") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace bale::loader_detail
