#include "bale/formats/beton/header.hpp"

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

}  // namespace bale::beton
