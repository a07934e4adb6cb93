// A source without the samples that a list names.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/source/chosen_source.hpp"

namespace bale {
namespace {

enum class Match : std::uint8_t { none, path, key, decoded };

class NameList {
 public:
  explicit NameList(const std::string& path) : bytes_(read_file(path)) {
    const std::string_view text = as_text(bytes_);
    const bool is_printed = text.find('\0') == std::string_view::npos;  // one name per line: keys are as they are printed
    const char end = is_printed ? '\n' : '\0';
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = std::min(text.find(end, at), text.size());
      const std::string_view line = text.substr(at, next - at);
      at = next + 1;
      if (line.empty() || !by_path_.emplace(line, names_.size()).second) continue;
      by_key_.emplace(is_printed ? read_key(line) : std::string(line), names_.size());
      names_.push_back({line});
    }
  }

  bool take_path(std::string_view path) {
    const auto found = by_path_.find(path);
    if (found == by_path_.end()) return false;
    names_[found->second].match = Match::path;
    return true;
  }

  /// Names that are paths stand for that file alone, and those that are keys for a sample with this key.
  bool take_key(const std::string& key, Match kind) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return false;
    Match& match = names_[found->second].match;
    if (match != Match::none && match != kind) return false;
    match = kind;
    return true;
  }

  void count(ExcludeCounts& counts) const {
    counts.num_names += names_.size();
    for (const Name& name : names_) {
      if (name.match != Match::none) continue;
      if (counts.num_unmatched++ == 0) counts.first_unmatched = name.text;
    }
  }

 private:
  struct Name {
    std::string_view text;
    Match match = Match::none;
  };
  std::vector<std::byte> bytes_;
  std::vector<Name> names_;  // in the list's order
  std::unordered_map<std::string_view, std::size_t> by_path_;
  std::unordered_map<std::string, std::size_t> by_key_;
};

bool takes_path(NameList& list, const std::vector<SourceFile>& files) {
  if (files.empty()) return false;
  const bool below = list.take_path(files.front().below_root);
  return list.take_path(files.front().path) || below;
}

}  // namespace

std::unique_ptr<Source> exclude_listed(std::unique_ptr<Source> source, const std::string& list, ExcludeCounts& counts) {
  NameList names(list);
  std::vector<bool> excluded(source->size());
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    excluded[i] = takes_path(names, source->files(i));
  }
  SourceSample sample;
  SampleFacts facts;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    source->describe(i, sample);
    // The key in a packed dataset may differ from the one in this source.
    const bool is_stored = source->facts(i, facts) && names.take_key(std::string(facts.key), Match::key);
    if (names.take_key(sample.key, Match::key) || is_stored) excluded[i] = true;
  }
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    source->describe(i, sample);
    if (names.take_key(decode_key(sample.key), Match::decoded)) excluded[i] = true;
    if (!excluded[i]) chosen.push_back(i);
  }
  names.count(counts);
  counts.num_excluded += source->size() - chosen.size();
  if (chosen.empty()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the list excludes all {} samples", source->size()),
                {.path = list});
  }
  return choose_samples(std::move(source), std::move(chosen));
}

}  // namespace bale
