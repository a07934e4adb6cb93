#include "bale/writer/run/objects/staging_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {
namespace {

constexpr const char* k_prefix = "bale-staging-";

std::string place_of(const std::string& parent) {
  if (!parent.empty()) return parent;
  const char* const variable = std::getenv("TMPDIR");
  return variable != nullptr && *variable != '\0' ? variable : "/tmp";
}

/// The directory, locked; not valid if it is not this user's, or if its process is alive.
Descriptor locked(const std::string& path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0 || info.st_uid != ::geteuid()) return Descriptor();
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return Descriptor();
  return directory;
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

void StagingDirectory::remove_stale(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(place_of(parent), error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(k_prefix)) continue;
    const std::string path = entry->path().string();
    if (const Descriptor lock = locked(path); lock.valid()) remove_all(path);
  }
}

StagingDirectory::StagingDirectory(const std::string& parent) {
  const std::string place = place_of(parent);
  remove_stale(place);
  while (!try_make(place)) {
  }
}

StagingDirectory::~StagingDirectory() { remove_all(path_); }

/// Returns false if another process took it for one that a killed process left, before it was locked.
bool StagingDirectory::try_make(const std::string& place) {
  path_ = join_path(place, std::string(k_prefix) + "XXXXXX");
  if (::mkdtemp(path_.data()) == nullptr) {
    if (errno != ENOENT && errno != ENOTDIR) throw_errno("make a directory for shards that are uploaded later", place);
    throw Error(ErrorCode::not_found, "is not a directory to build shards in before they are uploaded",
                {.path = place, .hint = "create it, or name another one as `staging_dir`"});
  }
  lock_ = locked(path_);
  return lock_.valid() && path_exists(path_);
}

}  // namespace bale
