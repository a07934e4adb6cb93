// Shared by the formats' writers: the rules for every sample, and the extents to hand over at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

/// Throws `invalid_argument` for a sample that no container accepts: without fields, with a repeated field, or with a
/// field of 4 GiB or more; and for a field whose name this container cannot hold. `path` is for the message.
void check_fields(const SampleView& sample, const FieldRule& rule, const std::string& path);

/// Collects the places of the fields of added samples. About 16 bytes per field.
class WrittenExtents {
 public:
  /// Adds a field of the sample that the next end_sample() closes.
  void add(std::string_view stored_name, std::uint64_t offset, std::uint64_t length);
  void end_sample() { sample_ends_.push_back(rows_.size()); }

  std::uint64_t num_samples() const { return sample_ends_.size(); }
  /// Sets the extents of the n-th closed sample on the n-th of `index`. Throws `invalid_argument` for a field that the
  /// index does not have.
  void set_on(IndexBuilder& index, const std::string& path) const;

 private:
  struct Row {
    std::uint64_t offset;
    std::uint32_t length;
    std::uint32_t column;
  };
  std::vector<Row> rows_;
  std::vector<std::size_t> sample_ends_;  // number of rows up to and including each sample
  std::vector<std::string> columns_;      // stored field names in order of appearance
};

/// Format options: texts that are passed to a writer by name.
/// Throws `invalid_argument` if an option is not in `known`.
void check_format_options(const WriterOptions& options, const std::vector<std::string_view>& known);

/// The value of a numeric option, `fallback` if it is not set. Throws `invalid_argument` for anything but a whole
/// number from `low` to `high`.
std::int64_t number_option(const WriterOptions& options, const std::string& name, std::int64_t fallback,
                           std::int64_t low, std::int64_t high);

}  // namespace bale
