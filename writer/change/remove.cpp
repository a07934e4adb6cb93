// Edit::remove(): hides samples, and lists them so that they are not added again.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/change/layer_change.hpp"
#include "bale/writer/edit.hpp"
#include "bale/writer/publish/removal_list.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

class Removal {
 public:
  Removal(const RemovalChoice& choice, LayerChange& change, Progress& progress)
      : change_(change), before_(change.removed()), progress_(progress), again_(choice.again) {
    for (const std::string& key : choice.keys) wanted_.emplace(key, false);
    if (!choice.from.empty()) read_list(choice.from);
    if (!listed_.empty() && change.adds()) {
      throw Error(ErrorCode::invalid_argument, "a list of removals after samples were added in the same edit",
                  {.path = choice.from, .hint = "remove by the list first, so that what is added is compared with it"});
    }
    if (!choice.where.empty()) select(choice.where);
    if (wanted_.empty() && listed_.empty() && choice.where.empty()) {
      throw Error(ErrorCode::invalid_argument, "no sample is named",
                  {.hint = "give keys, `from` with a file of keys, or `where`"});
    }
  }

  ChangeReport run() {
    for (std::size_t shard = 0; shard < dataset_.num_shards(); ++shard) {
      progress_.throw_if_stopped();
      look_in(shard);
      ++progress_.shards;
    }
    require_found();
    RemovalList removed = std::move(listed_);
    const std::uint64_t num_unchanged = removed.size() - std::min<std::uint64_t>(removed.size(), num_listed_);
    for (std::size_t shard = 0; shard < dataset_.num_shards(); ++shard) take(shard, removed);
    removed.subtract(before_);
    ChangeReport report = change_.add(std::move(layer_), removed);
    report.num_unchanged = num_unchanged;
    report.num_unreadable = num_unreadable_;
    return report;
  }

 private:
  void read_list(const std::string& path) {
    RecordReader lines(path, RecordKind::lines);
    while (lines.next()) {
      std::string_view line = lines.record();
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || listed_.add_line(line)) continue;
      wanted_.emplace(read_key(line), false);
    }
  }

  void select(const std::string& text) {
    if (change_.sets()) {
      throw Error(ErrorCode::invalid_argument, "a condition after labels or fields were set in the same edit",
                  {.hint = "it is about the version before: remove by the condition first"});
    }
    WhereCounts counts;
    for (const std::uint64_t i : select_samples(dataset_, Where::parse(text), counts)) {
      const auto [shard, row] = dataset_.position(i);
      chosen_[shard].push_back(static_cast<std::uint32_t>(row));
    }
  }

  void look_in(std::size_t shard) {
    const IndexInUse held = dataset_.use_index(shard);
    const ShardIndex& index = *held;
    std::vector<std::uint32_t>& rows = chosen_[shard];
    if (wanted_.size() < index.size()) {
      for (auto& [key, is_found] : wanted_) {
        if (is_found) continue;
        const std::optional<std::uint64_t> row = index.find(key);
        is_found = row && !change_.removes(shard, static_cast<std::uint32_t>(*row));
        if (is_found) rows.push_back(static_cast<std::uint32_t>(*row));
      }
    } else {
      for (std::uint32_t row = 0; row < index.size(); ++row) {
        const auto found = wanted_.find(std::string(index.key(row)));
        if (found == wanted_.end() || change_.removes(shard, row)) continue;
        found->second = true;
        rows.push_back(row);
      }
    }
    for (std::uint32_t row = 0; !listed_.empty() && row < index.size(); ++row) {
      if (change_.removes(shard, row) || !is_listed(shard, index, row)) continue;
      ++num_listed_;
      rows.push_back(row);
    }
    std::erase_if(rows, [&](std::uint32_t row) { return change_.removes(shard, row); });
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    if (rows.empty()) chosen_.erase(shard);
  }

  bool is_listed(std::size_t shard, const ShardIndex& index, std::uint32_t row) {
    return listed_.has_sample(index, row, [&] { return mark_of(shard, row) ? image_bytes_ : Bytes(); });
  }

  /// nullopt if it cannot be read: then only its key is known.
  std::optional<ImageMark> mark_of(std::size_t shard, std::uint32_t row) {
    try {
      const ShardInUse used = dataset_.use_shard(shard);
      image_bytes_ = used->read_image(row, scratch_);
      return ImageMark::of(image_bytes_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
      return std::nullopt;
    }
  }

  void require_found() const {
    std::uint64_t num_missing = 0;
    const std::string* first = nullptr;
    for (const auto& [key, is_found] : wanted_) {
      if (is_found || (again_ && before_.has_key(key))) continue;
      if (first == nullptr || key < *first) first = &key;
      ++num_missing;
    }
    if (first == nullptr) return;
    const std::string more =
        num_missing == 1 ? "" : fmt::format(", nor {} more of those that are named", num_missing - 1);
    throw Error(ErrorCode::not_found, fmt::format("the dataset does not have this key{}", more),
                {.path = change_.directory(),
                 .key = *first,
                 .hint = before_.has_key(*first) && !change_.adds(*first) ? "it was removed before"
                                                                          : change_.hint_of_missing(*first)});
  }

  void take(std::size_t shard, RemovalList& removed) {
    const auto found = chosen_.find(shard);
    if (found == chosen_.end()) return;
    progress_.throw_if_stopped();
    for (const std::uint32_t row : found->second) {
      const std::optional<ImageMark> image = mark_of(shard, row);
      if (!image) ++num_unreadable_;
      removed.add(dataset_.use_index(shard)->key(row), image);
      layer_.shards[shard].push_back({.row = row});
    }
  }

  LayerChange& change_;
  const Dataset& dataset_ = change_.dataset();
  PendingLayer layer_{.kind = LayerKind::removed};
  std::uint64_t num_unreadable_ = 0;
  RemovalList before_;
  Progress& progress_;
  bool again_;
  std::unordered_map<std::string, bool> wanted_;  // keys, and whether they were found
  RemovalList listed_;
  std::uint64_t num_listed_ = 0;                                        // samples that it has
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> chosen_;  // rows of shards, as readers get them
  Scratch scratch_;
  Bytes image_bytes_;  // what mark_of() read
};

}  // namespace

ChangeReport Edit::remove(const RemovalChoice& choice, Progress& progress) {
  return Removal(choice, change(), progress).run();
}

}  // namespace bale
