#include "bale/writer/destination/overlap.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/writer/source/files/long_path.hpp"

namespace bale {
namespace {

using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino};
}

Descriptor open_directory(int parent, const char* path) {
  return Descriptor(::openat(parent, path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// A directory and all its parents, innermost first; empty if it cannot be opened.
std::vector<Identity> with_parents(const std::string& directory) {
  std::vector<Identity> found;
  Descriptor at = open_directory(AT_FDCWD, directory.c_str());
  while (at.valid()) {
    const std::optional<Identity> identity = identity_of(at.get());
    if (!identity || (!found.empty() && found.back() == *identity)) break;  // the root is its own parent
    found.push_back(*identity);
    at = open_directory(at.get(), "..");
  }
  return found;
}

bool contains(const std::vector<Identity>& line, const Identity& identity) {
  for (const Identity& other : line) {
    if (other == identity) return true;
  }
  return false;
}

/// The directory itself, or its nearest parent that exists.
std::string nearest_directory(std::string path) {
  struct stat info {};
  while (::stat(path.c_str(), &info) != 0 && errno == ENOENT) {
    const std::string parent = parent_directory(path);
    if (parent == path) break;
    path = parent;
  }
  return path;
}

/// The path with symbolic links resolved; unchanged if it cannot be resolved.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? real.get() : path;
}

[[noreturn]] void refuse(const std::string& destination, const char* why, const std::string& hint) {
  throw Error(ErrorCode::invalid_argument, why, {.path = destination, .hint = hint});
}

}  // namespace

void require_no_overlap_of(const std::vector<std::string>& places, const std::string& destination) {
  const std::string nearest = nearest_directory(destination);
  const bool exists = nearest == destination;
  const std::vector<Identity> line = with_parents(nearest);
  if (line.empty()) return;
  const std::string hint = "choose a directory outside of the source that does not hold it either";
  std::set<std::string> directories_of_files;
  for (const std::string& place : places) {
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode)) {
      directories_of_files.insert(parent_directory(resolved(place)));
      continue;
    }
    const Identity identity{info.st_dev, info.st_ino};
    if (exists && line.front() == identity) refuse(destination, "is the source itself", hint);
    if (contains(line, identity)) refuse(destination, "lies in the source", hint);
    if (exists && contains(with_parents(place), line.front())) refuse(destination, "holds the source", hint);
  }
  for (const std::string& directory : directories_of_files) {
    if (exists && contains(with_parents(directory), line.front())) refuse(destination, "holds the source", hint);
  }
}

void require_sources_apart_from_cache(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    is_packed_dataset(place) ? require_outside_cache(place) : require_apart_from_cache(place);
  }
}

void require_no_overlap(const std::vector<std::string>& places, const std::string& destination) {
  require_no_overlap_of(places, destination);
  require_sources_apart_from_cache(places);
  require_apart_from_cache(destination);
}

}  // namespace bale
