#include "bale/formats/shard/index/index_layout.hpp"

#include <limits>

namespace bale {

std::optional<IndexSections> lay_out_index(std::uint32_t version, const IndexCounts& counts) {
  // Far above any real count, and small enough that no sum below overflows.
  constexpr std::uint64_t k_limit = std::uint64_t{1} << 48;
  constexpr std::uint64_t k_max_fields_version_1 = 255;
  const bool first_version = version == k_index_version_1;
  if (counts.num_samples > std::numeric_limits<std::uint32_t>::max() ||
      counts.num_fields > (first_version ? k_max_fields_version_1 : k_max_index_fields) || counts.key_bytes > k_limit ||
      counts.num_extents > k_limit || counts.name_bytes > k_limit ||
      counts.num_extents > counts.num_samples * counts.num_fields) {
    return std::nullopt;
  }
  const bool sparse = !first_version && !counts.is_dense();
  const std::uint64_t n = counts.num_samples;
  IndexSections s{};
  s.fields = sizeof(IndexHeader) + (first_version ? 0 : sizeof(IndexExtension));
  s.names = s.fields + counts.num_fields * (first_version ? sizeof(FieldRowVersion1) : sizeof(FieldRow));
  s.row_ends = s.names + (first_version ? 0 : counts.name_bytes);
  s.field_ids = s.row_ends + (sparse ? n * sizeof(RowEnd) : 0);
  s.extents = s.field_ids + (sparse ? counts.num_extents * sizeof(FieldId) : 0);
  s.samples = s.extents + counts.num_extents * sizeof(Extent);
  s.conditions = s.samples + n * sizeof(IndexSampleRow);
  s.key_ends = s.conditions + (first_version ? 0 : n * sizeof(ImageCondition));
  s.key_order = s.key_ends + n * sizeof(KeyEnd);
  s.keys = s.key_order + n * sizeof(IndexKeyRow);
  s.end = s.keys + counts.key_bytes;
  return s;
}

}  // namespace bale
