// zstd files: random access by frames, or decompressed once into a Spill (no seek table, huge frames).
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "bale/formats/authoring/file_window.hpp"
#include "bale/formats/authoring/kept.hpp"
#include "bale/formats/authoring/seek_table.hpp"
#include "bale/formats/authoring/spill.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/zstd_codec.hpp"

namespace bale {
namespace {

class SeekableStream : public Stream {
 public:
  SeekableStream(File file, SeekTable table) : file_(std::move(file)), table_(std::move(table)) {}
  ~SeekableStream() override { kept_frames().erase(owner_); }
  SeekableStream(const SeekableStream&) = delete;
  SeekableStream& operator=(const SeekableStream&) = delete;

  std::uint64_t size() const override { return table_.stream_bytes(); }

  void read_exact(std::uint64_t offset, MutableBytes out) const override {
    if (offset > size() || out.size() > size() - offset) {
      throw Error(ErrorCode::damaged, "the decompressed content ends too early",
                  {.path = file_.path(), .offset = offset});
    }
    while (!out.empty()) {
      const std::size_t frame = table_.frame_at(offset);
      const std::shared_ptr<const Frame> content = load(frame);
      const std::uint64_t skip = offset - table_.starts[frame].stream_offset;
      const Bytes part = content->bytes.subspan(static_cast<std::size_t>(skip));
      const std::size_t taken = std::min(part.size(), out.size());
      std::copy_n(part.begin(), taken, out.begin());
      out = out.subspan(taken);
      offset += taken;
    }
  }

  std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const override {
    if (offset >= size() || length > size() - offset) return std::nullopt;
    const std::size_t first = table_.frame_at(offset);
    const std::size_t last = length == 0 ? first : table_.frame_at(offset + length - 1);
    const std::uint64_t begin = table_.starts[first].file_offset;
    return FileRange{begin, table_.starts[last + 1].file_offset - begin};
  }

  void will_need(const FileRange& range) const override { file_.advise_will_need(range.offset, range.length); }

 private:
  /// Two threads may decompress the same frame at once. This is correct and only costs time.
  std::shared_ptr<const Frame> load(std::size_t frame) const {
    if (auto kept = kept_frames().find({owner_, frame})) return kept;
    const SeekTable::Start begin = table_.starts[frame];
    const SeekTable::Start end = table_.starts[frame + 1];
    const std::uint64_t content_bytes = end.stream_offset - begin.stream_offset;
    static thread_local RawBuffer buffer;
    const MutableBytes compressed = buffer.take(static_cast<std::size_t>(end.file_offset - begin.file_offset));
    file_.read_exact(begin.file_offset, compressed);
    try {
      // Compared before memory is allocated: the table may be forged.
      if (zstd_content_size(compressed, k_max_frame_bytes) != content_bytes) {
        throw Error(ErrorCode::damaged, "zstd frame and seek table disagree");
      }
      auto content = std::make_shared<Frame>();
      const MutableBytes memory = content->memory.take(static_cast<std::size_t>(content_bytes));
      zstd_decompress(compressed, memory);
      content->bytes = memory;
      kept_frames().insert({owner_, frame}, content, content_bytes, k_kept_frame_bytes);
      return content;
    } catch (const Error& error) {
      throw Error(ErrorCode::damaged, fmt::format("damaged frame: {}", error.message()),
                  {.path = file_.path(), .offset = begin.file_offset, .hint = "copy or pack it again"});
    }
  }

  File file_;
  SeekTable table_;
  const std::uint64_t owner_ = SharedCache<Frame>::new_owner();
};

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::unique_ptr<Stream> inflate_whole(const File& file) {
  Spill spill(file.path());
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
      if (ZSTD_getErrorCode(open_frame) == ZSTD_error_frameParameter_windowTooLarge) {
        throw Error(
            ErrorCode::unsupported, "a zstd frame with a window of more than 2 GiB",
            {.path = file.path(), .offset = read + in.pos, .hint = "compress it again with `zstd --long=31` at most"});
      }
      if (ZSTD_isError(open_frame) != 0U) {
        throw Error(ErrorCode::damaged, fmt::format("damaged zstd data: {}", ZSTD_getErrorName(open_frame)),
                    {.path = file.path(), .offset = read + in.pos, .hint = "copy or pack it again"});
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
  for (std::size_t i = 0; i < table.num_frames(); ++i) {
    const std::uint64_t compressed = table.starts[i + 1].file_offset - table.starts[i].file_offset;
    const std::uint64_t content = table.starts[i + 1].stream_offset - table.starts[i].stream_offset;
    if (content == 0 || content > k_max_frame_bytes || compressed > k_max_frame_bytes + (k_max_frame_bytes >> 7))
      return false;
  }
  if (table.num_frames() == 0) return true;
  // Other writers may omit the content size in their frame headers. Only the first frame is checked.
  std::vector<std::byte> head(18);  // largest frame header
  head.resize(file.read_some(0, head));
  const unsigned long long stated = ZSTD_getFrameContentSize(head.data(), head.size());
  return stated != ZSTD_CONTENTSIZE_UNKNOWN;
}

}  // namespace

bool begins_like_zstd(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\x28\xb5\x2f\xfd")) return true;
  return text.size() >= 4 && (static_cast<unsigned char>(text[0]) & 0xF0U) == 0x50 &&
         text.substr(1).starts_with("\x2a\x4d\x18");
}

std::unique_ptr<Stream> open_zstd_frames(const std::string& path, const std::vector<std::uint64_t>& bounds,
                                         std::vector<std::uint64_t>& starts) {
  constexpr std::size_t k_head = 18;  // largest frame header
  File file = File::open_read(path);
  FileWindow window(file);
  SeekTable table;
  SeekTable::Start start;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    start.file_offset = bounds[i];
    table.starts.push_back(start);
    if (bounds[i + 1] <= bounds[i] || bounds[i + 1] > file.size()) {
      throw Error(ErrorCode::damaged, fmt::format("zstd frame {} goes beyond the end of the file", i),
                  {.path = path, .offset = bounds[i], .hint = "copy it again"});
    }
    const Bytes head = window.from(bounds[i], k_head);
    const unsigned long long size = ZSTD_getFrameContentSize(head.data(), head.size());
    if (size == ZSTD_CONTENTSIZE_ERROR) {
      throw Error(ErrorCode::damaged, "not a zstd frame", {.path = path, .offset = bounds[i], .hint = "copy it again"});
    }
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size > k_max_frame_bytes) {
      throw Error(ErrorCode::unsupported, "a zstd frame without its size or of more than 64 MiB",
                  {.path = path, .offset = bounds[i]});
    }
    start.stream_offset += size;
  }
  start.file_offset = bounds.back();
  table.starts.push_back(start);
  starts.clear();
  for (const SeekTable::Start& each : table.starts) starts.push_back(each.stream_offset);
  return std::make_unique<SeekableStream>(std::move(file), std::move(table));
}

std::unique_ptr<Stream> open_zstd_stream(const std::string& path) {
  File file = File::open_read(path);
  std::optional<SeekTable> table = read_seek_table(file);
  if (!table || !fits_memory(file, *table)) return inflate_whole(file);
  return std::make_unique<SeekableStream>(std::move(file), std::move(*table));
}

}  // namespace bale
