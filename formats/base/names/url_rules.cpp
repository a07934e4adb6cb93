#include "bale/formats/base/names/url_rules.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

/// "s3" of "s3://bucket", and of "s3:/bucket", which pathlib makes of it; empty if the name is not a URL.
std::string scheme_of(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string scheme = lower_case(name.substr(0, colon));
  if (!is_scheme_name(scheme)) return {};
  const std::string_view rest = name.substr(colon);
  if (rest.starts_with("://")) return scheme;
  return rest.starts_with(":/") && find_scheme(scheme) != nullptr ? scheme : std::string();
}

/// What `text_of` says of each scheme that can be written.
template <typename Text>
std::string writable_schemes(std::string_view before_each, Text text_of) {
  std::string texts;
  for (const Scheme* scheme : all_schemes()) {
    if (scheme->can_write()) texts.append(before_each).append(text_of(*scheme));
  }
  return texts;
}

std::string hint_for(std::string_view name, const std::string& scheme, UrlUse use) {
  const Scheme* const known = find_scheme(scheme);
  const std::string with_slashes = scheme + "://";
  if (use == UrlUse::dataset && !name.starts_with(with_slashes) && remote_scheme_of(with_slashes) != nullptr) {
    return fmt::format("write {}: a path object drops one of the slashes", with_slashes);
  }
  if (use == UrlUse::packing) {
    if (known != nullptr && known->can_write()) {
      return fmt::format("write {}: a path object drops one of the slashes", known->destination);
    }
    return fmt::format("write to a local directory{}, and copy it from there",
                       writable_schemes(" or to ", [](const Scheme& one) { return one.destination; }));
  }
  if (use == UrlUse::writing) return "write to a local directory, and copy it from there";
  if (known == nullptr || known->advice.empty()) return "download it first, or mount it, and name the local path";
  return known->advice;
}

}  // namespace

std::string absolute_name(const std::string& name) {
  if (name.empty() || name.starts_with('/') || remote_storage_of(name) != nullptr) return name;
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  return error ? name : join_path(here, name);
}

std::size_t end_of_first_name(std::string_view list) {
  const std::size_t end = list.find("::");
  const std::size_t scheme = list.find("://");
  if (end == std::string_view::npos || scheme > end) return end;
  const std::size_t host = scheme + 3;
  const std::size_t path = std::min(list.find_first_of("/?#", host), list.size());
  const std::size_t open = std::min(list.find('[', host), path);
  const std::size_t close = std::min(list.find(']', open), path);
  return open < path && close < path ? list.find("::", close) : end;
}

void require_local_name(std::string_view name, UrlUse use) {
  const bool is_command = name.starts_with("pipe:");
  const std::string scheme = scheme_of(name);
  if (!is_command && scheme.empty()) return;
  const Scheme* const remote = remote_scheme_of(name);
  if (remote != nullptr && (use == UrlUse::dataset || (use == UrlUse::packing && remote->can_write()))) {
    return remote->storage->check(std::string(name));
  }
  if (remote == nullptr && path_exists(std::string(name))) return;
  const bool writes = use == UrlUse::writing || use == UrlUse::packing;
  const std::string hint = is_command && !writes ? "run the command with its output to a file, and name that file"
                                                 : hint_for(name, scheme, use);
  std::string what = writes ? "bale writes local files" : "bale reads local files";
  if (use == UrlUse::packing) {
    what += writable_schemes(" and ", [](const Scheme& one) { return one.name + "://"; });
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {} is {}", what, shown_name(name), is_command ? "a command" : "a URL"), {.hint = hint});
}

void require_output_file(const std::string& path, bool force) {
  if (path.empty()) return;
  require_local_name(path, UrlUse::writing);
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::exists, "is a directory", {.path = path, .hint = "name a file"});
  }
  if (!force && path_exists(path)) {
    throw Error(ErrorCode::exists, "the file exists already",
                {.path = path, .hint = "choose another name, or replace it with `force`"});
  }
  if (::lstat(path.c_str(), &info) != 0 && errno != ENOENT) throw_errno("create", path);
  const StagedFile probe(path, {});  // removed at once: a file can be made there
}

}  // namespace bale
