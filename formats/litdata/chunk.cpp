#include "bale/formats/litdata/chunk.hpp"

#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale::litdata {
namespace {

constexpr std::uint64_t k_word = sizeof(std::uint32_t);
constexpr std::string_view k_frames_magic{"LDFZ01\0\0", 8};
constexpr std::uint64_t k_prefix_bytes = 24;  // magic, u16 version, u16 flags, u32 samples, samples per frame, frames
constexpr std::uint64_t k_frame_entry_bytes = 24;  // u32 first, samples, u64 offset, u32 stored bytes, bytes

[[noreturn]] void fail(const std::string& path, std::uint64_t offset, std::string_view what) {
  throw Error(ErrorCode::damaged, what, {.path = path, .offset = offset, .hint = "copy it again"});
}

/// `count` offsets that do not decrease.
std::vector<std::uint64_t> read_offsets(const Stream& from, const std::string& path, std::uint64_t at,
                                        std::uint64_t count) {
  if (at > from.size() || count > (from.size() - at) / k_word) {
    fail(path, at, "the table of samples goes beyond the end of the chunk");
  }
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  from.read_exact(at, std::as_writable_bytes(std::span(words)));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] > words[i + 1]) fail(path, at + k_word * i, fmt::format("sample {} ends before it begins", i));
  }
  return {words.begin(), words.end()};
}

/// Newer versions write dictionaries of texts, numbers and bytes as an Arrow table after the samples or instead of
/// them.
void refuse_arrow(const Stream& content, const std::string& path) {
  std::array<std::byte, 8> end{};
  content.read_exact(content.size() - end.size(), end);
  if (as_text(end) != std::string_view("LDARW01\0", 8)) return;
  throw Error(ErrorCode::unsupported, "a chunk that is an Arrow table",
              {.path = path, .hint = "write its samples out with LitData, or with image leaves"});
}

/// u32 n, u32 offsets x (n + 1), samples up to the end.
std::vector<std::uint64_t> plain_offsets(const Stream& content, const std::string& path) {
  std::array<std::byte, k_word> count{};
  if (content.size() < 2 * k_word) fail(path, 0, "shorter than the header of a chunk");
  content.read_exact(0, count);
  const std::uint64_t samples = load_at<std::uint32_t>(count.data());
  std::vector<std::uint64_t> offsets = read_offsets(content, path, k_word, samples + 1);
  if (offsets.front() != k_word * (samples + 2)) fail(path, k_word, "the first sample is not after the table");
  if (offsets.back() != content.size()) {
    refuse_arrow(content, path);
    fail(path, k_word * (samples + 1),
         fmt::format("chunk has {} bytes, its table says {}", content.size(), offsets.back()));
  }
  return offsets;
}

/// The samples' frames as one content: sample n is what frame n becomes.
Chunk open_samples(const std::string& path) {
  const std::vector<std::uint64_t> bounds = plain_offsets(*open_plain_stream(path), path);
  Chunk chunk;
  chunk.content = open_zstd_frames(path, bounds, chunk.offsets);
  return chunk;
}

Chunk open_frames(const std::string& path) {
  const std::unique_ptr<Stream> file = open_plain_stream(path);
  if (file->size() < k_prefix_bytes) fail(path, 0, "shorter than the header of a chunk");
  std::array<std::byte, k_prefix_bytes> prefix{};
  file->read_exact(0, prefix);
  if (load_at<std::uint16_t>(prefix.data() + 8) != 1 || load_at<std::uint16_t>(prefix.data() + 10) != 0) {
    throw Error(ErrorCode::unsupported, "a chunk of another version of LDFZ, this bale reads 1", {.path = path});
  }
  const std::uint64_t samples = load_at<std::uint32_t>(prefix.data() + 12);
  const std::uint64_t frames = load_at<std::uint32_t>(prefix.data() + 20);
  Chunk chunk;
  chunk.offsets = read_offsets(*file, path, k_prefix_bytes, samples + 1);
  const std::uint64_t table = k_prefix_bytes + k_word * (samples + 1);
  if (frames == 0 || frames > (file->size() - table) / k_frame_entry_bytes) {
    fail(path, 20, "the table of frames goes beyond the end of the chunk");
  }
  std::vector<std::byte> entries(static_cast<std::size_t>(frames * k_frame_entry_bytes));
  file->read_exact(table, entries);
  std::vector<std::uint64_t> bounds{table + entries.size()};
  for (std::size_t i = 0; i < frames; ++i) {
    const std::byte* const entry = entries.data() + i * k_frame_entry_bytes;
    if (load_at<std::uint64_t>(entry + 8) != bounds.back()) {
      fail(path, table + i * k_frame_entry_bytes, fmt::format("frame {} is not after the one before it", i));
    }
    bounds.push_back(bounds.back() + load_at<std::uint32_t>(entry + 16));
  }
  if (bounds.back() != file->size()) fail(path, bounds.back(), "the frames do not end with the chunk");
  std::vector<std::uint64_t> starts;
  chunk.content = open_zstd_frames(path, bounds, starts);
  if (chunk.offsets.front() != 0 || chunk.offsets.back() != chunk.content->size()) {
    fail(path, k_prefix_bytes, "the frames do not hold the samples of the table");
  }
  return chunk;
}

}  // namespace

Packing packing_of(const std::string& path, bool compresses_samples) {
  std::array<std::byte, 8> head{};
  const Bytes found = Bytes(head).first(File::open_read(path).read_some(0, head));
  if (begins_like_zstd(found)) return Packing::whole;
  if (as_text(found) == k_frames_magic) return Packing::frames;
  return compresses_samples ? Packing::samples : Packing::plain;
}

Chunk open_chunk(const std::string& path, Packing packing) {
  if (packing == Packing::samples) return open_samples(path);
  if (packing == Packing::frames) return open_frames(path);
  Chunk chunk;
  chunk.content = packing == Packing::whole ? open_zstd_stream(path) : open_plain_stream(path);
  chunk.offsets = plain_offsets(*chunk.content, path);
  return chunk;
}

}  // namespace bale::litdata
