// zstd files: random access by frames, or decompressed once into a SpillFile (no seek table, huge frames).
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/container/streams/seek_table.hpp"
#include "bale/formats/container/streams/spill_file.hpp"

namespace bale {
namespace {

/// Frames with less content are decompressed each time: to keep one costs about as much.
constexpr std::uint32_t k_least_kept_bytes = 4096;

class SeekableStream : public Stream {
 public:
  SeekableStream(File file, SeekTable table, FrameChecks checks = FrameChecks::all)
      : file_(std::move(file)), table_(std::move(table)), checks_(checks) {}
  ~SeekableStream() override { frame_cache().erase(owner_); }
  SeekableStream(const SeekableStream&) = delete;
  SeekableStream& operator=(const SeekableStream&) = delete;

  std::uint64_t size() const override { return table_.stream_bytes(); }

  void read_exact(std::uint64_t offset, MutableBytes out) const override {
    if (offset > size() || out.size() > size() - offset) {
      throw Error(ErrorCode::damaged, "the decompressed content ends too early",
                  {.path = file_.path(), .offset = offset});
    }
    while (!out.empty()) {
      const SeekTable::Place place = table_.place_of(offset);
      const auto skip = static_cast<std::size_t>(offset - place.stream_offset);
      const std::size_t taken = std::min(place.content_bytes - skip, out.size());
      read_part(place, skip, out.first(taken));
      out = out.subspan(taken);
      offset += taken;
    }
  }

  std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const override {
    if (offset >= size() || length > size() - offset) return std::nullopt;
    const SeekTable::Place first = table_.place_of(offset);
    const SeekTable::Place last = length == 0 ? first : table_.place_of(offset + length - 1);
    return FileRange{first.file_offset, last.file_offset + last.file_bytes - first.file_offset};
  }

  void will_need(const FileRange& range) const override { file_.advise_will_need(range.offset, range.length); }

 private:
  /// Reads `out` from the content of a frame, `skip` bytes after its start.
  void read_part(const SeekTable::Place& place, std::size_t skip, MutableBytes out) const {
    if (checks_ == FrameChecks::compressed) {
      if (const std::size_t head = raw_head_bytes(place)) return file_.read_exact(place.file_offset + head + skip, out);
    }
    if (out.size() == place.content_bytes) return decompress(place, [&] { return out; });
    if (place.content_bytes < k_least_kept_bytes) {
      std::array<std::byte, k_least_kept_bytes> memory;
      const MutableBytes content = MutableBytes(memory).first(place.content_bytes);
      decompress(place, [&] { return content; });
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(skip), out.size(), out.begin());
      return;
    }
    const std::shared_ptr<const Frame> content = load(place);
    std::copy_n(content->bytes.begin() + static_cast<std::ptrdiff_t>(skip), out.size(), out.begin());
  }

  /// The bytes before the content of a raw frame, at which it can be read; 0 if the frame is another.
  std::size_t raw_head_bytes(const SeekTable::Place& place) const {
    if (place.content_bytes < k_min_raw_frame_bytes || place.content_bytes > k_max_raw_frame_bytes) return 0;
    const RawFrameHead expected = raw_frame_head(place.content_bytes);
    if (place.file_bytes != expected.size + place.content_bytes + k_raw_frame_end_bytes) return 0;
    RawFrameHead found{.size = expected.size};
    file_.read_exact(place.file_offset, MutableBytes(found.memory).first(found.size));
    return found.memory == expected.memory ? expected.size : 0;
  }

  /// Two threads may decompress the same frame at once. This is correct and only costs time.
  std::shared_ptr<const Frame> load(const SeekTable::Place& place) const {
    if (auto kept = frame_cache().find({owner_, place.frame})) return kept;
    auto content = std::make_shared<Frame>();
    decompress(place, [&] {
      const MutableBytes memory = content->memory.take(place.content_bytes);
      content->bytes = memory;
      return memory;
    });
    frame_cache().insert({owner_, place.frame}, content, place.content_bytes, k_frame_cache_bytes);
    return content;
  }

  /// `memory` returns where the content goes. It is called when the frame itself has confirmed the size: the table may
  /// be forged.
  template <typename Memory>
  void decompress(const SeekTable::Place& place, Memory memory) const {
    static thread_local RawBuffer buffer;
    const MutableBytes compressed = buffer.take(place.file_bytes);
    file_.read_exact(place.file_offset, compressed);
    try {
      if (zstd_content_size(compressed, k_max_frame_bytes) != place.content_bytes) {
        throw Error(ErrorCode::damaged, "zstd frame and seek table disagree");
      }
      zstd_decompress(compressed, memory());
    } catch (const Error& error) {
      const bool is_damaged = error.code() == ErrorCode::damaged;
      throw Error(error.code(), is_damaged ? fmt::format("damaged frame: {}", error.message()) : error.message(),
                  {.path = file_.path(),
                   .offset = place.file_offset,
                   .hint = is_damaged ? "copy or pack it again" : error.context().hint});
    }
  }

  File file_;
  SeekTable table_;
  FrameChecks checks_;
  const std::uint64_t owner_ = SharedCache<Frame>::new_owner();
};

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::unique_ptr<Stream> inflate_whole(const File& file) {
  SpillFile spill(file.path());
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
  // The largest window that `zstd --long` can write. It takes only the memory that its content fills.
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  std::vector<std::byte> input(ZSTD_DStreamInSize());
  std::vector<std::byte> output(ZSTD_DStreamOutSize());
  std::uint64_t read = 0;
  std::size_t open_frame = 1;  // 0: the last frame is complete
  for (;;) {
    const std::size_t got = file.read_some(read, input);
    if (got == 0) break;
    ZSTD_inBuffer in{input.data(), got, 0};
    // Repeat while the output was full: the decoder may hold more output.
    for (bool more = true; more;) {
      ZSTD_outBuffer out{output.data(), output.size(), 0};
      open_frame = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(open_frame) != 0U) {
        fail_zstd(open_frame, {.path = file.path(), .offset = read + in.pos, .hint = "copy or pack it again"});
      }
      spill.append(Bytes(output).first(out.pos));
      more = in.pos < in.size || (out.pos == out.size && open_frame != 0);
    }
    read += got;
  }
  if (open_frame != 0) {
    throw Error(ErrorCode::damaged, "the zstd data ends too early",
                {.path = file.path(), .offset = read, .hint = "copy or pack it again"});
  }
  return std::move(spill).finish();
}

/// Whether every frame can be decompressed separately and in memory. False if the table has a frame without content:
/// it would never be read, so content in it would not be noticed.
bool fits_memory(const File& file, const SeekTable& table) {
  const bool fits = std::all_of(table.frames().begin(), table.frames().end(), [](const FrameSizes& sizes) {
    return sizes.content != 0 && sizes.content <= k_max_frame_bytes &&
           sizes.compressed <= k_max_frame_bytes + (k_max_frame_bytes >> 7);
  });
  if (!fits) return false;
  if (table.num_frames() == 0) return true;
  // Other writers may omit the content size in their frame headers. Only the first frame is checked.
  std::vector<std::byte> head(18);  // largest frame header
  head.resize(file.read_some(0, head));
  const unsigned long long stated = ZSTD_getFrameContentSize(head.data(), head.size());
  return stated != ZSTD_CONTENTSIZE_UNKNOWN;
}

}  // namespace

std::unique_ptr<Stream> open_zstd_frames(const std::string& path, const std::vector<std::uint64_t>& bounds,
                                         std::vector<std::uint64_t>& starts) {
  constexpr std::size_t k_head = 18;  // largest frame header
  File file = File::open_read(path);
  FileWindow window(file);
  SeekTable table(bounds.front());
  starts.clear();
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (bounds[i + 1] <= bounds[i] || bounds[i + 1] > file.size()) {
      throw Error(ErrorCode::damaged, fmt::format("zstd frame {} goes beyond the end of the file", i),
                  {.path = path, .offset = bounds[i], .hint = "copy it again"});
    }
    const Bytes head = window.from(bounds[i], k_head);
    const unsigned long long size = ZSTD_getFrameContentSize(head.data(), head.size());
    if (size == ZSTD_CONTENTSIZE_ERROR) {
      throw Error(ErrorCode::damaged, "not a zstd frame", {.path = path, .offset = bounds[i], .hint = "copy it again"});
    }
    const std::uint64_t compressed = bounds[i + 1] - bounds[i];
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size > k_max_frame_bytes ||
        compressed > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ErrorCode::unsupported, "a zstd frame without its size or of more than 64 MiB",
                  {.path = path, .offset = bounds[i]});
    }
    starts.push_back(table.stream_bytes());
    table.add({.compressed = static_cast<std::uint32_t>(compressed), .content = static_cast<std::uint32_t>(size)});
  }
  starts.push_back(table.stream_bytes());
  return std::make_unique<SeekableStream>(std::move(file), std::move(table));
}

std::unique_ptr<Stream> open_zstd_stream(const std::string& path, FrameChecks checks) {
  File file = File::open_read(path);
  std::optional<SeekTable> table = read_seek_table(file);
  if (!table || !fits_memory(file, *table)) return inflate_whole(file);
  return std::make_unique<SeekableStream>(std::move(file), std::move(*table), checks);
}

}  // namespace bale
