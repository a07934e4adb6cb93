// A source without the samples that a list names.
#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/rows/source_root.hpp"

namespace bale {
namespace {

enum class Match : std::uint8_t { none, path, key, decoded, loose };

class NameList {
 public:
  explicit NameList(const std::string& path) : bytes_(read_file(path)) {
    std::string_view text = as_text(bytes_);
    refuse_utf16(text, path);
    is_printed_ = text.find('\0') == std::string_view::npos;  // one name per line: keys are as they are printed
    if (is_printed_ && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const char end = is_printed_ ? '\n' : '\0';
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = std::min(text.find(end, at), text.size());
      std::string_view line = text.substr(at, next - at);
      at = next + 1;
      if (is_printed_ && line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && by_path_.emplace(line, names_.size()).second) names_.push_back({line});
    }
    for (std::size_t name = 0; name < names_.size(); ++name) {
      const std::string_view line = names_[name].text;
      by_key_.emplace(is_printed_ ? read_key(line) : std::string(line), name);
      std::string plain = clean_path(stripped(line));
      if (plain.starts_with('/')) plain.erase(0, 1);
      loose_keys_.emplace(is_printed_ ? read_key(plain) : plain, name);
    }
  }

  /// Takes the path of a file, as it is or below its root.
  bool take_path(const SourceFile& file) {
    bool is_taken = false;
    for (const std::string* path : {&file.path, &file.below_root}) {
      const auto found = by_path_.find(*path);
      if (found == by_path_.end()) continue;
      names_[found->second].match = Match::path;
      is_taken = true;
    }
    return take(rooted(file).names, file.below_root, Match::path) || is_taken;
  }

  /// Names that are paths stand for that file alone, and those that are keys for a sample with this key.
  bool take_key(const std::string& key, Match kind) { return take(by_key_, key, kind); }

  /// Names that are neither may be of a directory, with all in it, or have white space around them.
  bool take_loosely(const std::vector<SourceFile>& files, const std::string& key) {
    bool is_taken = false;
    if (!files.empty()) is_taken = take_with_parents(rooted(files.front()).loose_names, files.front().below_root);
    return take_with_parents(loose_keys_, key) || is_taken;
  }

  void count(ExcludeCounts& counts) const {
    for (const Name& name : names_) {
      if (name.match == Match::none && is_printed_ && name.text.starts_with('#')) continue;  // a comment
      ++counts.num_names;
      if (name.match != Match::none) continue;
      if (counts.num_unmatched++ == 0) counts.first_unmatched = name.text;
    }
  }

 private:
  using Numbers = std::unordered_multimap<std::string, std::size_t>;
  struct Name {
    std::string_view text;
    Match match = Match::none;
  };
  /// The names as paths below a root.
  struct Rooted {
    std::string root;
    Numbers names{};
    Numbers loose_names{};  // without white space around them, and slashes at the end
  };

  const Rooted& rooted(const SourceFile& file) {
    std::string_view root = file.path;
    root.remove_suffix(root.ends_with(file.below_root) ? file.below_root.size() : 0);
    const auto known =
        std::find_if(rooted_.begin(), rooted_.end(), [&](const Rooted& one) { return one.root == root; });
    if (known != rooted_.end()) return *known;
    Rooted& added = rooted_.emplace_back(Rooted{std::string(root)});
    const SourceRoot places(added.root);
    for (std::size_t name = 0; name < names_.size(); ++name) {
      added.names.emplace(places.below(names_[name].text), name);
      added.loose_names.emplace(clean_path(places.below(stripped(names_[name].text))), name);
    }
    return added;
  }

  bool take(const Numbers& numbers, const std::string& name, Match kind) {
    bool is_taken = false;
    const auto [begin, end] = numbers.equal_range(name);
    for (auto at = begin; at != end; ++at) {
      Match& match = names_[at->second].match;
      if (match != Match::none && match != kind) continue;
      match = kind;
      is_taken = true;
    }
    return is_taken;
  }

  bool take_with_parents(const Numbers& numbers, const std::string& name) {
    bool is_taken = take(numbers, name, Match::loose);
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      is_taken = take(numbers, name.substr(0, slash), Match::loose) || is_taken;
    }
    return is_taken;
  }

  std::vector<std::byte> bytes_;
  bool is_printed_ = true;
  std::vector<Name> names_;  // in the list's order
  std::unordered_map<std::string_view, std::size_t> by_path_;
  Numbers by_key_;
  Numbers loose_keys_;
  std::deque<Rooted> rooted_;  // by the roots of files, of which there are few
};

}  // namespace

std::unique_ptr<Source> exclude_listed(std::unique_ptr<Source> source, const std::string& list, ExcludeCounts& counts) {
  NameList names(list);
  std::vector<bool> excluded(source->size());
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    const std::vector<SourceFile> files = source->files(i);
    excluded[i] = !files.empty() && names.take_path(files.front());
  }
  SourceSample sample;
  SampleFacts facts;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    source->describe(i, sample);
    // The key in a packed dataset may differ from the one in this source.
    const bool is_stored = source->facts(i, facts) && names.take_key(std::string(facts.key), Match::key);
    if (names.take_key(sample.key, Match::key) || is_stored) excluded[i] = true;
  }
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    source->describe(i, sample);
    if (names.take_key(decode_key(sample.key), Match::decoded)) excluded[i] = true;
  }
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    source->describe(i, sample);
    if (names.take_loosely(source->files(i), sample.key)) excluded[i] = true;
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
