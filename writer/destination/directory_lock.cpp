#include "bale/writer/destination/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_owner_bytes = 4096;

[[noreturn]] void throw_busy(const Directory& directory) {
  throw Error(ErrorCode::retryable, "another bale is packing into this directory",
              {.path = parent_directory(directory.path()), .hint = "wait for it to end"});
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Start time of a process in clock ticks since boot, which distinguishes it from a later process with the same PID;
/// empty if there is no such process.
std::string start_of_process(long pid) {
  const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(stat.substr(name_end + 1));
  constexpr int k_field_after_name = 19;  // "starttime", field 22 of proc(5) stat
  std::string field;
  for (int i = 0; i <= k_field_after_name; ++i) rest >> field;
  return field;
}

/// The scope in which a PID is valid: this boot of this machine, and the PID namespace; empty if unknown.
std::string process_world() {
  std::array<char, 128> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  return boot.empty() || length <= 0 ? std::string{} : boot + ' ' + std::string(space.data(), length);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string own_text() {
  const long pid = ::getpid();
  return Json{{"host", host_name()}, {"process", pid}, {"started", start_of_process(pid)}, {"world", process_world()}}
             .dump({.sorted = true}) +
         "\n";
}

/// Content of the owner file; empty if there is none.
std::string owner_text(const Directory& directory, const char* name) {
  const Descriptor file(::openat(directory.fd(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return {};
  std::array<char, k_max_owner_bytes> text{};
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(length < 0 ? 0 : length)};
}

struct Owner {
  std::string host;
  long process = 0;
  std::string started;
  std::string world;
};

std::optional<Owner> parse_owner(const std::string& text) {
  try {
    const Json owner = parse_json(text);
    return Owner{owner.text("host"), owner.whole<long>("process"), owner.text("started"), owner.text("world")};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Of a process in this world.
bool has_ended(const Owner& owner) {
  const std::string started = start_of_process(owner.process);
  if (!started.empty()) return started != owner.started;
  return ::kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH;  // /proc may hide processes of others
}

/// Content of an owner file that may be stale. Throws `retryable` if its process is alive or cannot be checked.
std::string stale_owner_text(const Directory& directory) {
  constexpr int k_patience = 20;
  std::string text;
  for (int i = 0; i < k_patience; ++i) {
    text = owner_text(directory, DirectoryLock::k_owner_name);
    const std::optional<Owner> owner = parse_owner(text);
    if (owner && !owner->world.empty() && owner->world == process_world()) {
      if (has_ended(*owner)) return text;
      throw_busy(directory);
    }
    if (owner) {
      const std::string path = join_path(directory.path(), DirectoryLock::k_owner_name);
      throw Error(ErrorCode::retryable,
                  fmt::format("another bale is packing into this directory (process {} on {})", owner->process,
                              printable(owner->host)),
                  {.path = parent_directory(directory.path()),
                   .hint = fmt::format("wait for it to end; if it is gone, remove {}", printable(path))});
    }
    // Another process is writing the file, or was killed before it wrote.
    ::usleep(100'000);
  }
  return text;
}

/// Removes the owner file if its content is still `stale`. Otherwise keeps it and throws `retryable`.
void remove_stale_owner(const Directory& directory, const std::string& stale) {
  const std::string aside = fmt::format("{}.{}", DirectoryLock::k_owner_name, ::getpid());
  if (!directory.rename(DirectoryLock::k_owner_name, directory, aside)) return;
  // Another process may have removed the stale file first. Then this is the file of its run.
  if (owner_text(directory, aside.c_str()) != stale) {
    directory.rename(aside, directory, DirectoryLock::k_owner_name);
    throw_busy(directory);
  }
  directory.remove(aside);
}

void make_owner_file(const Directory& directory) {
  constexpr int k_flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(::openat(directory.fd(), DirectoryLock::k_owner_name, k_flags, 0666));
  if (!file.valid() && errno == EEXIST) {
    remove_stale_owner(directory, stale_owner_text(directory));
    file = Descriptor(::openat(directory.fd(), DirectoryLock::k_owner_name, k_flags, 0666));
    if (!file.valid() && errno == EEXIST) throw_busy(directory);
  }
  if (!file.valid() && errno == ENOENT) throw_busy(directory);  // another run has ended and removed the directory
  if (!file.valid()) throw_errno("create", join_path(directory.path(), DirectoryLock::k_owner_name));
  const std::string text = own_text();
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const int error = errno;
    ::unlinkat(directory.fd(), DirectoryLock::k_owner_name, 0);
    errno = error;
    throw_errno("write", join_path(directory.path(), DirectoryLock::k_owner_name));
  }
  // While it was empty, another process may have taken it for the file of a killed process.
  if (owner_text(directory, DirectoryLock::k_owner_name) != text) throw_busy(directory);
}

/// Whether flock() failed because the file system has no locks, not because another process holds the lock.
bool has_no_locks(int error) {
  return error == ENOSYS || error == EOPNOTSUPP || error == EINVAL || error == ENOLCK || error == ENOTTY ||
         error == EBADF;
}

}  // namespace

DirectoryLock DirectoryLock::take(const Directory& directory, int file) {
  DirectoryLock lock;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) throw_busy(directory);
  if (!has_no_locks(errno)) throw_errno("lock", directory.path());
  make_owner_file(directory);
  lock.owner_directory_ = Descriptor(::fcntl(directory.fd(), F_DUPFD_CLOEXEC, 0));
  return lock;
}

void DirectoryLock::require_free(const Directory& directory, int file) {
  if (::flock(file, LOCK_SH | LOCK_NB) == 0) {
    ::flock(file, LOCK_UN);
    return;
  }
  if (errno == EWOULDBLOCK) throw_busy(directory);
  if (directory.holds(k_owner_name)) stale_owner_text(directory);  // throws if its process is alive
}

void DirectoryLock::release() noexcept {
  if (owner_directory_.valid()) ::unlinkat(owner_directory_.get(), k_owner_name, 0);
  owner_directory_ = Descriptor();
}

DirectoryLock::~DirectoryLock() { release(); }

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : owner_directory_(std::move(other.owner_directory_)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  if (this != &other) {
    release();
    owner_directory_ = std::move(other.owner_directory_);
  }
  return *this;
}

}  // namespace bale
