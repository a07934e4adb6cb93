#include "bale/formats/container/streams/seek_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr std::uint32_t k_skippable_magic = 0x184D2A5E;
constexpr std::uint32_t k_seekable_magic = 0x8F92EAB1;
constexpr std::size_t k_frame_header_bytes = 8;  // magic, size
constexpr std::size_t k_footer_bytes = 9;        // number of frames, descriptor, magic
constexpr unsigned k_checksum_flag = 0x80;
constexpr unsigned k_reserved_bits = 0x7C;

std::uint32_t get_u32(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

[[noreturn]] void fail(const File& file, std::string_view why, std::uint64_t offset) {
  throw Error(ErrorCode::damaged, fmt::format("damaged seek table: {}", why),
              {.path = file.path(), .offset = offset, .hint = "copy or pack it again"});
}

/// Whether a file with such a table ends at `offset`: several were joined, and this table is of the last.
bool follows_another(const File& file, std::uint64_t offset) {
  std::array<std::byte, 4> before;
  if (offset < before.size()) return false;
  file.read_exact(offset - before.size(), before);
  return get_u32(before, 0) == k_seekable_magic;
}

}  // namespace

void SeekTable::add(const FrameSizes& sizes) {
  if (frames_.size() % k_step == 0) starts_.push_back(end_);
  frames_.push_back(sizes);
  end_.file_offset += sizes.compressed;
  end_.stream_offset += sizes.content;
}

SeekTable::Place SeekTable::place_of(std::uint64_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset,
                                      [](std::uint64_t value, const Start& s) { return value < s.stream_offset; });
  Start start = *(after - 1);
  auto frame = static_cast<std::size_t>(after - starts_.begin() - 1) * k_step;
  for (; offset - start.stream_offset >= frames_[frame].content; ++frame) {
    start.file_offset += frames_[frame].compressed;
    start.stream_offset += frames_[frame].content;
  }
  return {.frame = frame,
          .file_offset = start.file_offset,
          .stream_offset = start.stream_offset,
          .file_bytes = frames_[frame].compressed,
          .content_bytes = frames_[frame].content};
}

std::optional<SeekTable> read_seek_table(const File& file) {
  const std::uint64_t file_bytes = file.size();
  if (file_bytes < k_frame_header_bytes + k_footer_bytes) return std::nullopt;
  std::array<std::byte, k_footer_bytes> footer;
  file.read_exact(file_bytes - footer.size(), footer);
  if (get_u32(footer, 5) != k_seekable_magic) return std::nullopt;

  const std::uint64_t num_frames = get_u32(footer, 0);
  const auto descriptor = static_cast<unsigned>(footer[4]);
  if ((descriptor & k_reserved_bits) != 0) fail(file, "reserved bits are set", file_bytes - 5);
  const std::size_t entry_bytes = (descriptor & k_checksum_flag) != 0 ? 12 : 8;
  const std::uint64_t table_bytes = num_frames * entry_bytes + k_footer_bytes;
  if (table_bytes + k_frame_header_bytes > file_bytes) fail(file, "larger than the file", file_bytes - 9);
  const std::uint64_t table_at = file_bytes - table_bytes - k_frame_header_bytes;

  std::vector<std::byte> table(static_cast<std::size_t>(table_bytes + k_frame_header_bytes));
  file.read_exact(table_at, table);
  if (get_u32(table, 0) != k_skippable_magic || get_u32(table, 4) != table_bytes) {
    fail(file, "not in a frame of its own", table_at);
  }
  SeekTable result;
  result.reserve(static_cast<std::size_t>(num_frames));
  for (std::uint64_t i = 0; i < num_frames; ++i) {
    const std::size_t at = k_frame_header_bytes + static_cast<std::size_t>(i) * entry_bytes;
    const std::uint32_t compressed = get_u32(table, at);
    if (compressed == 0 || compressed > table_at - result.file_end()) {
      fail(file, "frame sizes do not fit the file", table_at + at);
    }
    result.add({.compressed = compressed, .content = get_u32(table, at + 4)});
  }
  if (result.file_end() != table_at && follows_another(file, table_at - result.file_end())) return std::nullopt;
  if (result.file_end() != table_at) fail(file, "frame sizes do not fill the file", table_at);
  return result;
}

std::vector<std::byte> make_seek_table(const std::vector<FrameSizes>& frames) {
  // Allocated at its final size: if a vector of bytes grows here, GCC 14 warns that it frees unallocated memory.
  std::vector<std::byte> out(k_frame_header_bytes + frames.size() * 8 + k_footer_bytes);
  std::size_t at = 0;
  const auto put_u32 = [&](std::uint32_t value) {
    for (int i = 0; i < 4; ++i, value >>= 8) out[at++] = static_cast<std::byte>(value & 0xFF);
  };
  put_u32(k_skippable_magic);
  put_u32(static_cast<std::uint32_t>(frames.size() * 8 + k_footer_bytes));
  for (const FrameSizes& frame : frames) {
    put_u32(frame.compressed);
    put_u32(frame.content);
  }
  put_u32(static_cast<std::uint32_t>(frames.size()));
  out[at++] = std::byte{0};  // descriptor: no checksums
  put_u32(k_seekable_magic);
  return out;
}

}  // namespace bale
