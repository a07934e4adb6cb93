// Grouper: turns the members of an archive, in order, into the samples of an index (WebDataset's rule).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/core/index_builder.hpp"

namespace bale::tar {

/// Whether a regular member belongs to a sample; throws `unsupported` for one too large for an index.
bool is_sample_member(std::string_view name, std::uint64_t size, const std::string& path);

class Grouper {
 public:
  /// `path` is for messages; both must outlive the grouper.
  Grouper(IndexBuilder& index, const std::string& path) : index_(index), path_(path) {}

  /// Adds a sample member to the sample it belongs to. Returns whether its bytes are the sample's label and
  /// small enough to be one: give them to set_label(). Throws `damaged` for a field that the sample has.
  bool add(std::string_view name, std::uint64_t offset, std::uint64_t size);
  void set_label(Bytes cls);

 private:
  std::uint32_t field_of(std::string_view extension);

  IndexBuilder& index_;
  const std::string& path_;
  std::string key_;
  std::uint64_t sample_ = 0;
  std::vector<std::pair<std::string, std::uint32_t>> known_;  // extensions as spelled, and their columns
};

}  // namespace bale::tar
