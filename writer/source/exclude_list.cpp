// A source without the samples that a list names.
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/writer/source/chosen_source.hpp"

namespace bale {
namespace {

enum class Match : std::uint8_t { none, path, key };

class NameList {
 public:
  explicit NameList(const std::string& path) : bytes_(read_file(path)) {
    const std::string_view text = as_text(bytes_);
    const char end = text.find('\0') == std::string_view::npos ? '\n' : '\0';
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = std::min(text.find(end, at), text.size());
      if (next > at && match_of_.emplace(text.substr(at, next - at), Match::none).second) {
        names_.push_back(text.substr(at, next - at));
      }
      at = next + 1;
    }
  }

  bool take_path(std::string_view path) {
    const auto found = match_of_.find(path);
    if (found == match_of_.end()) return false;
    found->second = Match::path;
    return true;
  }

  /// Names that are paths stand for that file alone.
  bool take_key(std::string_view key) {
    const auto found = match_of_.find(key);
    if (found == match_of_.end() || found->second == Match::path) return false;
    found->second = Match::key;
    return true;
  }

  void count(ExcludeCounts& counts) const {
    counts.num_names += names_.size();
    for (const std::string_view name : names_) {
      if (match_of_.at(name) != Match::none) continue;
      if (counts.num_unmatched++ == 0) counts.first_unmatched = name;
    }
  }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::string_view> names_;  // in the list's order
  std::unordered_map<std::string_view, Match> match_of_;
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
  bool has_files = false;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    const std::vector<SourceFile> files = source->files(i);
    has_files = has_files || !files.empty();
    excluded[i] = takes_path(names, files);
  }
  const bool encoded = has_files || source->encodes_keys();
  SourceSample sample;
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    source->describe(i, sample);
    if (names.take_key(encoded ? decode_key(sample.key) : sample.key)) excluded[i] = true;
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
