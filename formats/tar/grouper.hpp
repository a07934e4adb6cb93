// Grouper: turns the members of an archive, in order, into the samples of an index (WebDataset's rule).
//
// Most archives have the members of a sample next to each other, and no links. They need one look, which keeps 8 bytes
// per sample beside the index. Others are looked at twice: the second time with all keys, and with the places of the
// files that hard links lead to, by name. That takes about 100 bytes and the name for each of them.
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

/// What the first look at an archive finds out for the second.
class Survey {
 public:
  /// Everything is to be remembered at the first look, as for an archive that is unpacked on the way.
  static Survey of_everything();

  /// Whether the archive must be looked at again, with this survey.
  bool wants_second_look() const { return !complete_ && (apart_ || !places_.empty()); }
  void begin_second_look();

 private:
  friend class Grouper;
  bool complete_ = false;  // keys and places are known
  bool all_names_ = false;
  bool apart_ = false;                                               // a key comes back later
  std::map<std::string, std::optional<Place>, std::less<>> places_;  // of link targets
};

class Grouper {
 public:
  /// `path` is for messages; all must outlive the grouper.
  Grouper(IndexBuilder& index, const std::string& path, Survey& survey) : index_(index), path_(path), survey_(survey) {}

  /// Adds a file to the sample it belongs to, if any. Returns that sample if the file's bytes are its label and small
  /// enough to be one: give them to index.set_label(). Throws `damaged` for a field that the sample has.
  std::optional<std::uint64_t> add(std::string_view name, Place place);
  /// The same for a hard link, which has the data of an earlier file, at the place that is returned too.
  struct Label {
    std::uint64_t sample;
    Place place;
  };
  std::optional<Label> add_link(std::string_view name, std::string_view target);
  /// After the last member.
  void finish();

 private:
  void remember(std::string_view name, Place place, bool is_field);
  void enter_sample(std::string_view key);
  std::uint32_t field_of(std::string_view extension, std::uint64_t offset);

  IndexBuilder& index_;
  const std::string& path_;
  Survey& survey_;
  std::string key_;
  std::uint64_t sample_ = 0;
  std::vector<std::uint64_t> hashes_;                          // of keys; first look
  std::map<std::string, std::uint64_t, std::less<>> samples_;  // by key; second look
  std::uint64_t num_returns_ = 0;                              // of keys
  std::vector<bool> spelled_jpeg_;                             // samples whose field jpg was called jpeg
};

}  // namespace bale::tar
