#include "bale/formats/base/files/temporary_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/random.hpp"

namespace bale {
namespace {

constexpr std::string_view k_prefix = ".bale-tmp-";
constexpr std::size_t k_digits = 16;
constexpr std::time_t k_stale_seconds = 3600;
constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// Identifies the boot and the pid namespace, within which process numbers are unique; empty if unknown.
std::string process_space() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string text((std::istreambuf_iterator<char>(boot)), std::istreambuf_iterator<char>());
  std::error_code error;
  const std::string numbers = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return text.empty() || numbers.empty() ? std::string{} : text + numbers;
}

/// 16 digits; all zero if unknown.
const std::string& machine_digits() {
  // Not a static object that is made by the first call: a child of fork() would wait forever for a thread that only
  // its parent has.
  static constinit std::atomic<const std::string*> known{nullptr};
  const std::string* digits = known.load();
  if (digits != nullptr) return *digits;
  const std::string space = process_space();
  auto made = std::make_unique<const std::string>(space.empty() ? std::string(k_digits, '0')
                                                                : fmt::format("{:016x}", hash_key(space)));
  if (known.compare_exchange_strong(digits, made.get())) digits = made.release();
  return *digits;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number)) return number;
  static std::atomic<std::uint64_t> calls{0};
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return KeyedRandom({now, static_cast<std::uint64_t>(::getpid()), calls++}).next();
}

struct NameParts {
  std::string_view machine;
  pid_t process = 0;
};

bool are_digits(std::string_view text) {
  return text.size() == k_digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::optional<NameParts> split_name(std::string_view name) {
  if (!name.starts_with(k_prefix)) return std::nullopt;
  name.remove_prefix(k_prefix.size());
  const std::size_t first = name.find('-');
  const std::size_t last = name.rfind('-');
  if (first == name.npos || last == first) return std::nullopt;
  NameParts parts{.machine = name.substr(0, first)};
  const std::string_view process = name.substr(first + 1, last - first - 1);
  const auto [end, error] = std::from_chars(process.data(), process.data() + process.size(), parts.process);
  const bool whole = error == std::errc{} && end == process.data() + process.size() && parts.process > 0;
  if (!whole || !are_digits(parts.machine) || !are_digits(name.substr(last + 1))) return std::nullopt;
  return parts;
}

/// Names of the stale temporary files of an open directory, sorted.
std::vector<std::string> stale_names(int directory) {
  // Opened again: the read position of a directory belongs to the descriptor.
  const int listed = ::openat(directory, ".", k_directory_flags);
  DIR* const stream = listed >= 0 ? ::fdopendir(listed) : nullptr;
  if (stream == nullptr) {
    if (listed >= 0) ::close(listed);
    return {};
  }
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(stream)) {
    if (is_stale_temporary(directory, entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

struct OpenFile {
  explicit OpenFile(int opened) : fd(opened) {}
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int fd;
};

}  // namespace

std::string temporary_name() {
  return fmt::format("{}{}-{}-{:016x}", k_prefix, machine_digits(), ::getpid(), random_number());
}

bool is_stale_temporary(int directory, const std::string& name) {
  const std::optional<NameParts> parts = split_name(name);
  struct stat info {};
  if (!parts || ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
    return false;
  const bool ours = parts->machine == machine_digits() && parts->machine != std::string(k_digits, '0');
  if (ours && ::kill(parts->process, 0) != 0 && errno == ESRCH) return true;
  return info.st_mtim.tv_sec < std::time(nullptr) - k_stale_seconds;
}

std::vector<std::string> stale_temporaries(const std::string& directory) {
  const OpenFile open(::open(directory.c_str(), k_directory_flags));
  return open.fd >= 0 ? stale_names(open.fd) : std::vector<std::string>{};
}

std::uint64_t remove_stale_temporaries(int directory) {
  std::uint64_t removed = 0;
  for (const std::string& name : stale_names(directory)) {
    if (::unlinkat(directory, name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

std::uint64_t remove_stale_temporaries(const std::string& directory) {
  const OpenFile open(::open(directory.c_str(), k_directory_flags));
  return open.fd >= 0 ? remove_stale_temporaries(open.fd) : 0;
}

void take_access(int fd, const struct stat& of) {
  constexpr mode_t k_reading_and_writing = 0666;
  constexpr mode_t k_of_directories = 02777;
  // Only root may give files away. File systems without owners refuse all of it.
  if (::fchown(fd, of.st_uid, of.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), of.st_gid) != 0) errno = 0;
  if (::fchmod(fd, of.st_mode & (S_ISDIR(of.st_mode) ? k_of_directories : k_reading_and_writing)) != 0) errno = 0;
}

StagedFile::StagedFile(const std::string& path, Bytes bytes)
    : path_(path), temporary_(join_path(parent_directory(path), temporary_name())) {
  try {
    write_durably(temporary_, bytes);
  } catch (const Error& error) {
    ::unlink(temporary_.c_str());
    ErrorContext context = error.context();
    context.path = path_;  // the name that the user knows
    throw Error(error.code(), error.message(), std::move(context));
  }
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void StagedFile::publish(const std::string& beside) {
  struct stat model {};
  if ((::stat(path_.c_str(), &model) == 0 || ::stat(beside.c_str(), &model) == 0) && S_ISREG(model.st_mode)) {
    const OpenFile made(::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (made.fd >= 0) take_access(made.fd, model);
  }
  publish_rename(temporary_, path_);
  temporary_.clear();
}

}  // namespace bale
