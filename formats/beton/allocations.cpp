#include "bale/formats/beton/allocations.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::beton {

Allocations::Allocations(const Stream& content, const Header& header, const std::string& path) {
  constexpr std::size_t k_row = sizeof(Allocation);
  constexpr std::size_t k_rows_at_once = 4096;
  const auto fail = [&](std::uint64_t offset, std::string_view what) {
    throw Error(ErrorCode::damaged, fmt::format("allocation table: {}", what), {.path = path, .offset = offset});
  };
  const std::uint64_t end = content.size();
  if ((end - header.table) % k_row != 0) fail(header.table, "ends inside a row, so the file was cut");
  std::vector<std::byte> rows(k_row * k_rows_at_once);
  for (std::uint64_t at = header.table; at < end;) {
    rows.resize(static_cast<std::size_t>(std::min<std::uint64_t>(rows.size(), end - at)));
    content.read_exact(at, rows);
    for (std::size_t i = 0; i < rows.size(); i += k_row) {
      const auto row = load_at<Allocation>(rows.data() + i);
      if (row.bytes == 0) continue;  // ffcv gives these any offset
      if (row.sample >= header.num_samples) fail(at + i, fmt::format("sample {} does not exist", row.sample));
      if (row.offset < header.data() || row.offset > header.table || row.bytes > header.table - row.offset) {
        fail(at + i, fmt::format("{} bytes at {} are not in the data", row.bytes, row.offset));
      }
      sorted_.push_back(row);
    }
    at += rows.size();
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [](const Allocation& a, const Allocation& b) { return a.offset < b.offset; });
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    const Allocation& before = sorted_[i - 1];
    if (before.bytes > sorted_[i].offset - before.offset) {
      fail(sorted_[i].offset, fmt::format("samples {} and {} share bytes", before.sample, sorted_[i].sample));
    }
  }
}

std::optional<std::uint64_t> Allocations::size_of(std::uint64_t sample, std::uint64_t offset) const {
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), offset,
                                      [](const Allocation& a, std::uint64_t wanted) { return a.offset < wanted; });
  if (found == sorted_.end() || found->offset != offset || found->sample != sample) return std::nullopt;
  return found->bytes;
}

}  // namespace bale::beton
