// Grouper: turns the members of an archive, in order, into the samples of an index (WebDataset's rule).
//
// Most archives store the members of a sample next to each other and have no hard links. They need one pass, which
// keeps 8 bytes per sample in addition to the index. Other archives need a second pass, which keeps all keys, and the
// names and positions of the files that hard links refer to. Each takes about 100 bytes and its name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/index_builder.hpp"

namespace bale::tar {

/// Why a file of this name belongs to no sample; empty if it belongs to one.
std::string_view reason_to_skip(std::string_view name);

/// Where a file's data lies in the stream.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// What the first pass over an archive records for the second.
class Survey {
 public:
  /// Records everything in the first pass. For archives that are unpacked while they are scanned.
  static Survey of_everything();

  /// Whether the archive needs a second pass, with this survey.
  bool wants_second_look() const { return !complete_ && (apart_ || !places_.empty()); }
  void begin_second_look();

 private:
  friend class Grouper;
  bool complete_ = false;  // keys and places are known
  bool all_names_ = false;
  bool apart_ = false;                                               // a key occurs again later
  std::map<std::string, std::optional<Place>, std::less<>> places_;  // of link targets
};

class Grouper {
 public:
  /// `path` is for messages. All arguments must outlive the grouper.
  Grouper(IndexBuilder& index, const std::string& path, Survey& survey) : index_(index), path_(path), survey_(survey) {}

  /// Room for a number with white space around it. A longer file is not a label.
  static constexpr std::uint64_t k_max_label_bytes = 64;

  /// Adds a file to its sample, if it belongs to one. Returns the sample if the file is its label field: pass its first
  /// bytes to index.set_label_of(). If the sample already has the field, this file replaces the earlier one, which is a
  /// notice: of files of one name, every program that unpacks them leaves the last.
  std::optional<std::uint64_t> add(std::string_view name, Place place);
  /// Adds a hard link in the same way. Its data is that of an earlier file, whose place is also returned.
  struct Label {
    std::uint64_t sample;
    Place place;
  };
  std::optional<Label> add_link(std::string_view name, std::string_view target);
  /// Call it after the last member.
  void finish();

 private:
  void remember(std::string_view name, Place place, bool is_field);
  void enter_sample(std::string_view key);
  std::uint32_t field_of(std::string_view extension);

  IndexBuilder& index_;
  const std::string& path_;
  Survey& survey_;
  std::string key_;
  std::uint64_t sample_ = 0;
  std::vector<std::uint64_t> hashes_;                          // of keys; first pass
  std::map<std::string, std::uint64_t, std::less<>> samples_;  // by key; second pass
  std::uint64_t num_returns_ = 0;                              // of keys that occur again
  std::vector<bool> spelled_jpeg_;                             // by sample: its field jpg was spelled jpeg
};

}  // namespace bale::tar
