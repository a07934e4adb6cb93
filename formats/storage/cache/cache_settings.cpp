#include "bale/formats/storage/cache/cache_settings.hpp"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/options/option_values.hpp"

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

}  // namespace bale
