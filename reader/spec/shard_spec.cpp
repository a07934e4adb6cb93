#include "bale/reader/spec/shard_spec.hpp"

#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/directory_entries.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/reader/spec/shard_directory.hpp"

// Brace rules are those of the Python package `braceexpand`, which WebDataset uses. Integer ranges keep zero padding.
// Letters have ranges, too. Both take a step. Braces without a comma or range are kept. A backslash escapes the next
// character.

namespace bale {
namespace {

constexpr std::size_t k_max_names = 1'000'000;
constexpr std::size_t k_max_total_bytes = std::size_t{1} << 30;
constexpr int k_max_depth = 64;

[[noreturn]] void refuse(std::string_view text, std::string_view why, std::string hint = {}) {
  throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\": {}", printable(text), why), {.hint = std::move(hint)});
}

/// Builds products of names. Refuses growth past the limits before it happens.
class Names {
 public:
  explicit Names(std::string_view whole) : whole_(whole) {}

  static std::size_t bytes_of(const std::vector<std::string>& names) {
    std::size_t sum = 0;
    for (const std::string& name : names) sum += name.size();
    return sum;
  }

  void check(std::size_t names, std::size_t bytes) const {
    if (names > k_max_names)
      refuse(whole_, fmt::format("more than {} names", k_max_names), "name fewer shards at once");
    if (bytes > k_max_total_bytes) refuse(whole_, "the names are too long together", "name fewer shards at once");
  }

  /// Every name of `heads` followed by every name of `tails`.
  std::vector<std::string> product(std::vector<std::string> heads, const std::vector<std::string>& tails) const {
    check(heads.size() * tails.size(), bytes_of(heads) * tails.size() + bytes_of(tails) * heads.size());
    if (tails.size() == 1) {
      for (std::string& head : heads) head += tails.front();
      return heads;
    }
    std::vector<std::string> names;
    names.reserve(heads.size() * tails.size());
    for (const std::string& head : heads) {
      for (const std::string& tail : tails) names.push_back(head + tail);
    }
    return names;
  }

 private:
  std::string_view whole_;
};

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    plain += text[at];
  }
  return plain;
}

struct RangeParts {
  std::string_view first;
  std::string_view last;
  std::string_view step;  // without its sign; empty: 1
};

std::optional<RangeParts> split_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  RangeParts parts{text.substr(0, dots), text.substr(dots + 2), {}};
  const std::size_t more = parts.last.find("..");
  if (more != std::string_view::npos) {
    parts.step = parts.last.substr(more + 2);
    parts.last = parts.last.substr(0, more);
    if (parts.step.starts_with('-')) parts.step.remove_prefix(1);
    if (parts.step.empty()) return std::nullopt;
  }
  return parts;
}

bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_letter(std::string_view text) {
  return text.size() == 1 && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
}

bool is_padded(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text.front() == '0';
}

class Expander {
 public:
  explicit Expander(std::string_view whole) : whole_(whole), names_(whole) {}

  std::vector<std::string> pattern(std::string_view text, int depth) const {
    if (depth > k_max_depth) refuse(whole_, "braces are nested too deeply");
    std::vector<std::string> names{std::string()};
    std::size_t start = 0;
    int open = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\\') {
        ++at;
      } else if (text[at] == '{') {
        if (open++ == 0) {
          names = names_.product(std::move(names), {without_escapes(text.substr(start, at - start))});
          start = at + 1;
        }
      } else if (text[at] == '}') {
        if (--open < 0) break;
        if (open == 0) {
          names = names_.product(std::move(names), group(text.substr(start, at - start), depth));
          start = at + 1;
        }
      }
    }
    if (open != 0) refuse(whole_, "unbalanced braces", "write \\{ for a brace in a name");
    return names_.product(std::move(names), {without_escapes(text.substr(start))});
  }

 private:
  /// Expands the text between a pair of braces.
  std::vector<std::string> group(std::string_view text, int depth) const {
    if (const auto parts = split_range(text)) {
      if (!parts->step.empty() && (!is_integer(parts->step) || parts->step.starts_with('-')))
        return literal(text, depth);
      if (is_integer(parts->first) && is_integer(parts->last)) return integers(*parts);
      if (is_letter(parts->first) && is_letter(parts->last)) return letters(*parts);
    }
    std::vector<std::string> names;
    std::size_t bytes = 0;
    std::size_t start = 0;
    int open = 0;
    bool found_comma = false;
    const auto append = [&](std::string_view item) {
      std::vector<std::string> expanded = pattern(item, depth + 1);
      bytes += Names::bytes_of(expanded);
      names_.check(names.size() + expanded.size(), bytes);
      std::move(expanded.begin(), expanded.end(), std::back_inserter(names));
    };
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\\') {
        ++at;
      } else if (text[at] == '{') {
        ++open;
      } else if (text[at] == '}') {
        --open;
      } else if (text[at] == ',' && open == 0) {
        append(text.substr(start, at - start));
        start = at + 1;
        found_comma = true;
      }
    }
    if (!found_comma) return literal(text, depth);
    append(text.substr(start));
    return names;
  }

  std::vector<std::string> literal(std::string_view text, int depth) const {
    return names_.product(names_.product({"{"}, pattern(text, depth + 1)), {"}"});
  }

  std::int64_t number(std::string_view text) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) refuse(whole_, "a range's number is too large");
    return value;
  }

  /// Calls `each` for first, first +- step, ... up to `last`. Checks their number before the first call.
  template <typename Each>
  void walk(std::int64_t first, std::int64_t last, std::string_view step_text, std::size_t width, Each each) const {
    const std::int64_t step = step_text.empty() ? 1 : number(step_text);
    if (step == 0) refuse(whole_, "a range's step is zero");
    const auto from = static_cast<std::uint64_t>(first);
    const auto to = static_cast<std::uint64_t>(last);
    const std::uint64_t steps = (first <= last ? to - from : from - to) / static_cast<std::uint64_t>(step);
    names_.check(steps >= k_max_names ? k_max_names + 1 : steps + 1, 0);
    names_.check(steps + 1, (steps + 1) * width);
    for (std::uint64_t i = 0; i <= steps; ++i) {
      const std::uint64_t distance = i * static_cast<std::uint64_t>(step);
      each(static_cast<std::int64_t>(first <= last ? from + distance : from - distance));
    }
  }

  std::vector<std::string> integers(const RangeParts& parts) const {
    const bool padded = is_padded(parts.first) || is_padded(parts.last);
    const std::size_t width = padded ? std::max(parts.first.size(), parts.last.size()) : 0;
    std::vector<std::string> names;
    walk(number(parts.first), number(parts.last), parts.step, width, [&](std::int64_t value) {
      std::string name = fmt::format("{}", value);
      if (name.size() < width) name.insert(value < 0 ? 1 : 0, width - name.size(), '0');
      names.push_back(std::move(name));
    });
    return names;
  }

  std::vector<std::string> letters(const RangeParts& parts) const {
    std::vector<std::string> names;
    walk(parts.first[0], parts.last[0], parts.step, 1,
         [&](std::int64_t value) { names.emplace_back(1, static_cast<char>(value)); });
    return names;
  }

  std::string_view whole_;
  Names names_;
};

/// Leaves out what bale writes next to shards, so that "dir/*" names the shards. Throws if nothing is left.
void keep_shards(const std::string& pattern, std::vector<std::string>& names) {
  const bool has_matches = !names.empty();
  std::erase_if(names, is_beside_shards);
  if (!names.empty()) return;
  throw Error(ErrorCode::not_found,
              has_matches ? "only files next to shards match this pattern" : "no file matches this pattern",
              {.path = pattern, .hint = "check the path"});
}

/// The files of a remote directory whose names match the last part of the pattern.
std::vector<std::string> remote_matches(const Storage& storage, const std::string& pattern) {
  const std::string directory = parent_directory(pattern);
  const std::string last = base_name(pattern);
  if (directory.find_first_of("*?") < begin_of_query(directory)) {
    throw Error(ErrorCode::unsupported, "a pattern for directories of a server",
                {.path = pattern, .hint = "name the directory"});
  }
  std::vector<std::string> names = storage.list(directory);
  std::erase_if(names,
                [&](const std::string& name) { return ::fnmatch(last.c_str(), base_name(name).c_str(), 0) != 0; });
  keep_shards(pattern, names);
  return names;
}

/// Whether a file or a dataset has exactly this name. Servers are asked for names without '*' only.
bool is_literal(const std::string& name) {
  const Storage* const storage = remote_storage_of(name);
  if (storage == nullptr) return name_is_taken(name);
  if (name.find('*') != std::string::npos) return false;
  return storage->exists(name) || storage->exists(storage->join(name, k_manifest_name));
}

/// Whether wildcards of the shell are in the name. If names have queries, '?' begins one. A server's directory with
/// brackets has them in its name.
bool is_pattern(const std::string& name) {
  const Scheme* const scheme = remote_scheme_of(name);
  if (scheme == nullptr) return name.find_first_of("*?[") != std::string::npos && !is_literal(name);
  if (scheme->has_query) return name.find('*') < begin_of_query(name);
  const bool has_wildcards =
      name.find_first_of("*?") != std::string::npos || base_name(name).find('[') != std::string::npos;
  return has_wildcards && !is_literal(name);
}

/// What stops glob() from seeing all of a directory: it would take what it has seen for all. Its calls have no argument
/// for it.
struct GlobFaults {
  int error = 0;                          // of a disk, or of a directory that was not read to its end
  std::vector<std::string> unreadable{};  // directories that this user may not read
};
thread_local GlobFaults t_glob_faults;

int on_glob_error(const char* path, int error) {
  if (error == EACCES || error == EPERM)
    t_glob_faults.unreadable.emplace_back(path);
  else if (!says_absent(error))
    t_glob_faults.error = error;
  return t_glob_faults.error;
}

struct dirent* read_for_glob(void* directory) {
  errno = 0;
  struct dirent* const entry = ::readdir(static_cast<DIR*>(directory));
  if (entry == nullptr && errno != 0) t_glob_faults.error = errno;
  return entry;
}

template <int (*STAT)(const char*, struct stat*)>
int stat_for_glob(const char* path, struct stat* info) {
  const int result = STAT(path, info);
  if (result != 0) on_glob_error(parent_directory(path).c_str(), errno);
  return result;
}

/// Adds the matches to `paths`, and directories that this user may not read to `unreadable`.
void append_matches(const std::string& pattern, std::vector<std::string>& paths, std::vector<std::string>& unreadable) {
  if (const Storage* const storage = remote_storage_of(pattern)) {
    const std::vector<std::string> names = remote_matches(*storage, pattern);
    paths.insert(paths.end(), names.begin(), names.end());
    return;
  }
  glob_t found{};
  found.gl_opendir = [](const char* path) -> void* { return ::opendir(path); };
  found.gl_readdir = read_for_glob;
  found.gl_closedir = [](void* directory) { ::closedir(static_cast<DIR*>(directory)); };
  found.gl_stat = stat_for_glob<::stat>;
  found.gl_lstat = stat_for_glob<::lstat>;
  t_glob_faults = {};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ALTDIRFUNC, on_glob_error, &found);
  const std::unique_ptr<glob_t, void (*)(glob_t*)> guard(&found, ::globfree);
  GlobFaults faults = std::exchange(t_glob_faults, {});
  if (result == GLOB_NOSPACE) throw std::bad_alloc();
  std::vector<std::string> names;
  if (result == 0) names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  if (names.empty() && faults.error == 0 && !faults.unreadable.empty()) faults.error = EACCES;
  if (faults.error != 0) {
    errno = faults.error;
    throw_errno("list the directories of this pattern",
                faults.unreadable.empty() ? pattern : faults.unreadable.front());
  }
  unreadable.insert(unreadable.end(), faults.unreadable.begin(), faults.unreadable.end());
  keep_shards(pattern, names);
  std::sort(names.begin(), names.end());
  paths.insert(paths.end(), names.begin(), names.end());
}

}  // namespace

std::string absolute_spec(std::string_view spec) {
  const std::string whole(spec);
  if (spec.empty() || name_is_taken(whole)) return absolute_name(whole);
  const std::string here = absolute_name(".");
  if (here.find("::") != std::string::npos) return whole;  // no list can have such names
  const bool is_special = here.find_first_of("*?[{\\") != std::string::npos;
  std::string absolute;
  for (std::string_view rest = spec;;) {
    const std::size_t colons = end_of_first_name(rest);
    const std::string part(rest.substr(0, colons));
    require_local_name(part, UrlUse::dataset);
    if (is_special && absolute_name(part) != part && !name_is_taken(part)) {
      std::string_view before;
      for (const std::string& name : expand_shard_spec(part)) {
        absolute += std::string(std::exchange(before, "::")) + absolute_name(name);
      }
    } else {
      absolute += absolute_name(part);
    }
    if (colons == std::string_view::npos) return absolute;
    absolute += "::";
    rest.remove_prefix(colons + 2);
  }
}

std::vector<std::string> expand_braces(std::string_view text) { return Expander(text).pattern(text, 0); }

std::vector<std::string> expand_shard_spec(std::string_view spec, std::vector<std::string>* unreadable) {
  std::vector<std::string> ignored;
  if (spec.empty()) refuse(spec, "no shards are named");
  // A file with exactly this name needs no expansion.
  if (name_is_taken(std::string(spec))) return {std::string(spec)};
  std::vector<std::string> paths;
  for (;;) {
    const std::size_t colons = end_of_first_name(spec);
    const std::string_view part = spec.substr(0, colons);
    if (part.empty()) refuse(spec, "an empty name next to \"::\"");
    require_local_name(part, UrlUse::dataset);
    if (name_is_taken(std::string(part))) {
      paths.emplace_back(part);
    } else {
      for (std::string& name : expand_braces(part)) {
        if (!is_pattern(name)) {
          paths.push_back(std::move(name));
        } else {
          append_matches(name, paths, unreadable != nullptr ? *unreadable : ignored);
        }
      }
    }
    if (paths.size() > k_max_names) refuse(spec, fmt::format("more than {} names", k_max_names));
    if (colons == std::string_view::npos) return paths;
    spec.remove_prefix(colons + 2);
  }
}

}  // namespace bale
