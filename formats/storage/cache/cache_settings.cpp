#include "bale/formats/storage/cache/cache_settings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/remote_cache.hpp"

namespace bale {
namespace {

constexpr std::string_view k_no_cache = "none";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string default_directory() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) return join_path(cache, "bale");
  const std::string home = variable("HOME");
  return home.empty() ? std::string() : join_path(home, ".cache/bale");
}

}  // namespace

bool is_cache_named() { return !variable("BALE_CACHE_DIR").empty(); }

CacheSettings cache_settings() {
  CacheSettings settings{.directory = variable("BALE_CACHE_DIR")};
  if (settings.directory == k_no_cache) return {};
  if (settings.directory.empty()) settings.directory = default_directory();
  if (settings.directory.empty()) return {};
  const std::string limit = variable("BALE_CACHE_LIMIT");
  if (limit.empty()) return settings;
  const auto bytes = size_of_text(limit);
  if (!bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("BALE_CACHE_LIMIT is \"{}\", not a size such as 200GiB", printable(limit)));
  }
  settings.limit_bytes = *bytes;
  return settings;
}

namespace {

constexpr const char* k_hint = "name another directory in BALE_CACHE_DIR";

void make_directories(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return;
  if (const std::string parent = parent_directory(path); parent != path) make_directories(parent);
  if (::mkdir(path.c_str(), 0700) == 0 ||
      (errno == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))) {
    return;
  }
  throw Error(ErrorCode::io, "cannot make the directory of the cache",
              {.path = path, .hint = k_hint, .system_error = errno});
}

/// What the user named may be a link; what bale made in it may not.
void require_private(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) throw_errno("examine", path);
  if (!S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::io, "not a directory, so it cannot be the cache", {.path = path, .hint = k_hint});
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    throw Error(ErrorCode::io, "the cache belongs to another user", {.path = path, .hint = k_hint});
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw Error(ErrorCode::io, "other users can write to the cache",
                {.path = path, .hint = "chmod 700 it, or name another directory in BALE_CACHE_DIR"});
  }
}

bool has_dataset(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == "manifest.json" || name == ".bale-partial" || name.ends_with(".bidx")) return true;
  }
  return false;
}

std::filesystem::path resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
  if (error) canonical = absolute.lexically_normal();
  return canonical.has_filename() ? canonical : canonical.parent_path();
}

/// Whether a path is the directory or lies in it, with links resolved. Neither has to exist.
bool is_in(const std::string& path, const std::string& directory) {
  const std::filesystem::path outer = resolved(directory);
  const std::filesystem::path inner = resolved(path);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// `also_around`: the cache may not lie in the place either.
void require_apart(const std::string& name, bool also_around) {
  const std::string place = path_of_file_url(name).value_or(name);
  if (remote_scheme_of(place) != nullptr || !is_cache_named()) return;
  const CacheSettings settings = cache_settings();
  if (settings.directory.empty()) return;
  // Only what bale makes below the named directory is the cache: a dataset may be next to it.
  const std::string cache = join_path(settings.directory, k_cache_name);
  if (!is_in(place, cache) && !(also_around && is_in(cache, place))) return;
  throw Error(ErrorCode::invalid_argument, "the cache of remote files may not lie in what is read or written",
              {.path = place, .hint = "name another directory in BALE_CACHE_DIR"});
}

}  // namespace

std::string prepare_cache(const std::string& directory) {
  if (has_dataset(directory)) {
    throw Error(ErrorCode::invalid_argument, "has a packed dataset, so it cannot be the directory of the cache",
                {.path = directory, .hint = k_hint});
  }
  const std::string path = join_path(directory, k_cache_name);
  make_directories(path);
  require_private(path);
  make_directories(join_path(path, "files"));
  require_private(join_path(path, "files"));
  return path;
}

void require_apart_from_cache(const std::string& place) { require_apart(place, true); }

void require_outside_cache(const std::string& place) { require_apart(place, false); }

}  // namespace bale
