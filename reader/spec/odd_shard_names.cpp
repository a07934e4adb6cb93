#include "bale/reader/spec/dataset_spec.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/shard/shard_name.hpp"

namespace bale {
namespace {

constexpr std::string_view k_digits = "0123456789";

/// The name without its extensions, such as ".tar.gz"; what begins with a digit is none.
std::string_view stem_of(std::string_view name) {
  for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0; dot = name.rfind('.')) {
    if (dot + 1 < name.size() && k_digits.find(name[dot + 1]) != std::string_view::npos) break;
    name = name.substr(0, dot);
  }
  return name;
}

void note_uncounted(const std::vector<std::string>& shards, NoticeLog& log) {
  std::map<std::array<std::string, 3>, std::set<std::uint64_t>> found;  // numbers by name, count and suffix
  for (const std::string& shard : shards) {
    if (const auto name = counted_name(base_name(shard)))
      found[{name->dataset, name->count, name->suffix}].insert(name->number);
  }
  for (const auto& [name, numbers] : found) {
    const auto& [dataset, digits, suffix] = name;
    const std::uint64_t count = std::stoull(digits);
    if (numbers.size() >= count) continue;
    std::uint64_t first = numbers.contains(count) ? 1 : 0;
    while (numbers.contains(first)) ++first;
    log.warn(fmt::format("{} of the {} shards that the names count {} missing (such as {}-{:0{}}-of-{}{})",
                         count - numbers.size(), count, count - numbers.size() == 1 ? "is" : "are", printable(dataset),
                         first, digits.size(), digits, printable(suffix)));
  }
}

void note_skipped_numbers(const std::vector<std::string>& shards, NoticeLog& log) {
  struct Numbers {
    std::set<std::uint64_t> found;
    std::size_t width = 0;  // of the shortest
  };
  std::map<std::pair<std::string, std::string>, Numbers> names;  // by what is before and after the number
  for (const std::string& shard : shards) {
    const std::string name = base_name(shard);
    const std::string_view stem = stem_of(name);
    const std::size_t start = stem.find_last_not_of(k_digits) + 1;  // 0 if there are only digits
    const std::string_view digits = stem.substr(start);
    if (digits.empty() || digits.size() > 9) continue;
    Numbers& numbers = names[{std::string(stem.substr(0, start)), name.substr(stem.size())}];
    numbers.width = numbers.found.empty() ? digits.size() : std::min(numbers.width, digits.size());
    numbers.found.insert(std::stoull(std::string(digits)));
  }
  for (const auto& [name, numbers] : names) {
    const std::uint64_t first = *numbers.found.begin();
    const std::uint64_t num_missing = *numbers.found.rbegin() - first + 1 - numbers.found.size();
    if (num_missing == 0 || num_missing >= numbers.found.size()) continue;  // dates and class numbers skip more
    std::uint64_t missing = first;
    while (numbers.found.contains(missing)) ++missing;
    log.warn(fmt::format("the numbers of the shards skip {} (such as {}{:0{}}{}), which may be missing", num_missing,
                         printable(name.first), missing, numbers.width, printable(name.second)));
  }
}

/// How long the path of the nearest directory above all of them is.
std::size_t common_directory(const std::vector<std::string>& files) {
  if (files.empty()) return 0;
  std::string_view common = files.front();
  for (const std::string& file : files) {
    common = common.substr(0, static_cast<std::size_t>(std::ranges::mismatch(common, file).in1 - common.begin()));
  }
  const std::size_t slash = common.rfind('/');
  return slash == std::string_view::npos ? 0 : slash;
}

/// The first word that is a split's in the name of a file or directory, or else of the nearest directory that is called
/// as one and whose path is longer than `common`; empty if there is none.
std::string split_of(const std::string& file, std::size_t common) {
  const std::string name = lower_case(base_name(file));
  for (std::size_t start = 0, end = 0; start < name.size(); start = end + 1) {
    end = std::min(name.find_first_of("-_. ", start), name.size());
    std::string word = name.substr(start, end - start);
    if (is_split_name(word)) return word;
  }
  std::string path = lower_case(file);
  while (path.find('/') != std::string::npos) {
    path = parent_directory(path);
    if (path == "/" || path == "." || path.size() <= common) break;
    if (std::string above = base_name(path); is_split_name(above)) return above;
  }
  return {};
}

}  // namespace

NoticeLog odd_shard_names(const std::vector<std::string>& shards) {
  NoticeLog log;
  note_uncounted(shards, log);
  note_skipped_numbers(shards, log);
  if (std::string line = several_splits(shards, "shards"); !line.empty()) log.warn(std::move(line));
  return log;
}

std::string several_splits(const std::vector<std::string>& files, std::string_view what) {
  std::map<std::string, std::uint64_t> splits;
  const std::size_t common = common_directory(files);
  for (const std::string& file : files) {
    if (std::string split = split_of(file, common); !split.empty()) ++splits[std::move(split)];
  }
  if (splits.size() < 2) return {};
  std::string all;
  for (const auto& [split, count] : splits) all += fmt::format("{}{} of {}", all.empty() ? "" : ", ", count, split);
  return fmt::format(
      "the {} are of several splits by their names ({}), and are read as one dataset; name those of one "
      "split, as in '*{}*'",
      what, all, splits.begin()->first);
}

}  // namespace bale
