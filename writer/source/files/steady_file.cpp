#include "bale/writer/source/files/steady_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

namespace {

/// How long ago the last change of a file must be to be taken for complete.
constexpr std::chrono::milliseconds k_rest{20};

/// Links of DVC, git-annex and the Hub's cache lead nowhere until their files are fetched.
[[noreturn]] void refuse_missing(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0)
    throw Error(
        ErrorCode::not_found, "no such file",
        {.path = path,
         .hint = "check the path; relative ones of a list or table start at `root`, those of annotations in the "
                 "folder of the images"});
  target.resize(static_cast<std::size_t>(length));
  throw Error(ErrorCode::not_found, fmt::format("a broken link: there is no {}", printable(target)),
              {.path = path,
               .hint = "fetch what it leads to, leave it out with `exclude`, or all such files with `on_error` skip"});
}

}  // namespace

SteadyFile::SteadyFile(const std::string& path) : file_(open_long_path(path, O_RDONLY)) {
  if (!file_.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) refuse_missing(path);
    if (errno == ENXIO) throw Error(ErrorCode::unsupported, "not a regular file", {.path = path});
    throw_errno("open", path);
  }
  if (::fstat(file_.get(), &info_) != 0) throw_errno("examine", path);
  if (!S_ISREG(info_.st_mode)) throw Error(ErrorCode::unsupported, "not a regular file", {.path = path});
  if (static_cast<std::uint64_t>(info_.st_size) > k_max_bytes) {
    throw Error(ErrorCode::unsupported, "larger than a field can be (4 GiB - 1)", {.path = path});
  }
}

bool SteadyFile::read(MutableBytes out, const std::string& path, bool is_being_written) const {
  std::size_t got = 0;
  // A read that ends exactly at the known size is taken as the end; the fstat below confirms it.
  while (got < out.size()) {
    const ssize_t count = ::read(file_.get(), out.data() + got, out.size() - got);
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_errno("read", path);
    }
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
    if (got == size()) break;
  }
  if (got != size()) return false;
  struct stat after {};
  if (::fstat(file_.get(), &after) != 0) throw_errno("examine", path);
  if (after.st_size != info_.st_size || mtime_ns(after) != mtime_ns(info_)) return false;
  // Whoever writes may set the time back, as cp -p does. Links and modes change the status, and no byte.
  const bool has_status =
      after.st_ctim.tv_sec == info_.st_ctim.tv_sec && after.st_ctim.tv_nsec == info_.st_ctim.tv_nsec;
  return (has_status && !is_being_written) || still_holds(out.first(size()), after, path);
}

/// Compares the content with a second reading. A write sets the times when it begins and can go on for longer than
/// the first reading took. So a change of this moment is given time to end.
bool SteadyFile::still_holds(Bytes bytes, const struct stat& info, const std::string& path) const {
  using namespace std::chrono;
  const auto changed = seconds(info.st_ctim.tv_sec) + nanoseconds(info.st_ctim.tv_nsec);
  const auto age = system_clock::now().time_since_epoch() - changed;
  if (age > nanoseconds(0) && age < k_rest) std::this_thread::sleep_for(k_rest - age);
  std::array<std::byte, 32768> again;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count =
        ::pread(file_.get(), again.data(), std::min(again.size(), bytes.size() - at), static_cast<off_t>(at));
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_errno("read", path);
    }
    const Bytes expected = bytes.subspan(at, static_cast<std::size_t>(count));
    if (count == 0 || !std::equal(expected.begin(), expected.end(), again.begin())) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

void read_file_ahead(const std::string& path) {
  const Descriptor file = open_long_path(path, O_RDONLY);
  if (file.valid()) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_WILLNEED);
}

std::string identity_of_file(const std::string& path) {
  constexpr std::uint64_t k_end_bytes = 65536;
  try {
    const File file = File::open_read(path);
    struct stat info {};
    if (::fstat(file.fd(), &info) != 0) throw_errno("examine", path);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    DigestStream ends;
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size, k_end_bytes)));
    for (const std::uint64_t at : {std::uint64_t{0}, size - bytes.size()}) {
      file.read_exact(at, bytes);
      ends.update(bytes);
    }
    return fmt::format("\t{}\t{}\t{}.{:09}\t{}", size, mtime_ns(info), info.st_ctim.tv_sec, info.st_ctim.tv_nsec,
                       digest_text(ends.digest()));
  } catch (const Error&) {
    return "\tunreadable";
  }
}

}  // namespace bale
