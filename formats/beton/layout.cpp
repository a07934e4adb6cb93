#include "bale/formats/beton/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::beton {
namespace {

constexpr std::size_t k_header_bytes = 24;
constexpr std::uint16_t k_version = 2;
constexpr std::uint64_t k_table_at = 16;  // where the header has the position of the allocation table

struct Front {
  std::uint16_t version;
  std::uint16_t num_fields;
  std::uint32_t page_bytes;
  std::uint64_t num_samples;
  std::uint64_t table;

  std::uint64_t records() const { return k_header_bytes + std::uint64_t{num_fields} * k_descriptor_bytes; }
};
static_assert(sizeof(Front) == k_header_bytes);

[[noreturn]] void fail(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw Error(ErrorCode::damaged, what, {.path = path, .offset = offset, .hint = "copy it again"});
}

Front read_front(const Stream& content, const std::string& path) {
  if (content.size() < k_header_bytes) fail(path, 0, "shorter than the header of a .beton file");
  std::array<std::byte, k_header_bytes> bytes{};
  content.read_exact(0, bytes);
  const auto front = load_at<Front>(bytes.data());
  if (front.version != k_version) {
    throw Error(ErrorCode::unsupported,
                fmt::format("version {} of FFCV's format, this bale reads {}", front.version, k_version),
                {.path = path, .offset = 0, .hint = "write it again with ffcv 1.0, or pack what it was written from"});
  }
  if (front.num_fields == 0) fail(path, 2, "has no fields");
  if (!std::has_single_bit(front.page_bytes)) {
    fail(path, 4, fmt::format("pages of {} bytes, which is not a power of 2", front.page_bytes));
  }
  if (front.records() > content.size()) fail(path, 2, "the descriptors of the fields go beyond the end of the file");
  if (front.table == 0) {
    throw Error(ErrorCode::damaged, "has no allocation table: its writer did not finish",
                {.path = path, .offset = k_table_at, .hint = "write it again"});
  }
  if (front.table > content.size()) {
    fail(path, k_table_at,
         fmt::format("the allocation table is at {}, the file has {} bytes", front.table, content.size()));
  }
  return front;
}

}  // namespace

bool looks_like_beton(Bytes head, std::uint64_t file_bytes) {
  if (head.size() < k_header_bytes + k_descriptor_bytes) return false;
  const auto front = load_at<Front>(head.data());
  return front.version == k_version && front.num_fields != 0 && std::has_single_bit(front.page_bytes) &&
         front.records() <= front.table && front.table <= file_bytes &&
         is_plausible_descriptor(head.subspan(k_header_bytes, k_descriptor_bytes));
}

Header read_header(const Stream& content, const std::string& path) {
  const Front front = read_front(content, path);
  std::vector<std::byte> descriptors(static_cast<std::size_t>(front.records() - k_header_bytes));
  content.read_exact(k_header_bytes, descriptors);
  Header header{.num_samples = front.num_samples, .records = front.records(), .table = front.table};
  try {
    Columns columns = parse_columns(descriptors);
    header.record_bytes = columns.record_bytes;
    header.columns = std::move(columns.all);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.path = path, .offset = k_header_bytes, .hint = error.context().hint});
  }
  if (header.table < header.records || header.num_samples > (header.table - header.records) / header.record_bytes) {
    fail(path, 8, fmt::format("{} samples, whose metadata goes beyond the allocation table", header.num_samples));
  }
  return header;
}

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
