#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/writeback.hpp"
#include "bale/formats/container/streams/seek_table.hpp"
#include "bale/formats/tar/reading/stream.hpp"
#include "bale/formats/tar/writing/writer.hpp"

namespace bale::tar {
namespace {

constexpr int k_memory_level = 8;  // zlib's default
constexpr std::size_t k_sink_buffer_bytes = std::size_t{256} << 10;

/// Writes a single gzip member: tarfile's stream mode, and therefore WebDataset, stops after the first.
class GzipSink : public Sink {
 public:
  GzipSink(File file, int level) : file_(std::move(file)), output_(k_sink_buffer_bytes) {
    // zlib's own gzip header: no name, modification time 0.
    if (deflateInit2(&state_, level, Z_DEFLATED, k_gzip_only, k_memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error(ErrorCode::invalid_argument, "zlib refuses this compression level");
    }
  }
  ~GzipSink() override { deflateEnd(&state_); }

  void write(std::span<const Bytes> parts) override {
    for (Bytes part : parts) {
      while (!part.empty()) {
        const Bytes piece = part.first(std::min(part.size(), k_max_piece_bytes));
        part = part.subspan(piece.size());
        compress(piece, Z_NO_FLUSH);
      }
    }
  }

  void finish() override {
    compress({}, Z_FINISH);
    file_.close();
  }

 private:
  static constexpr std::size_t k_max_piece_bytes = std::size_t{1} << 30;  // zlib counts in 32 bits

  /// Compresses all of `input`. Z_FINISH ends the member.
  void compress(Bytes input, int flush) {
    state_.next_in = const_cast<Bytef*>(as_uchar(input));
    state_.avail_in = static_cast<uInt>(input.size());
    do {
      state_.next_out = reinterpret_cast<Bytef*>(output_.data());
      state_.avail_out = static_cast<uInt>(output_.size());
      if (deflate(&state_, flush) == Z_STREAM_ERROR) throw Error(ErrorCode::io, "zlib cannot compress");
      const Bytes ready = Bytes(output_).first(output_.size() - state_.avail_out);
      file_.write_at(written_, ready);
      written_ += ready.size();
    } while (state_.avail_out == 0);
  }

  File file_;
  std::uint64_t written_ = 0;
  std::vector<std::byte> output_;
  z_stream state_{};
};

}  // namespace

std::unique_ptr<Sink> make_gzip_sink(File file, int level) {
  return std::make_unique<GzipSink>(std::move(file), level);
}

namespace {

// A payload of more than this that does not compress, such as a JPEG, is stored in frames of its own: a field of a
// sample is then read at the speed of the file.
constexpr std::size_t k_joined_bytes = std::size_t{2} << 10;
// Everything else is compressed. Such a frame ends before a sample that would make it larger than one of these. All of
// it is decompressed for one field. Frames of 1 MiB would make text, annotations and masks 1 to 15% smaller. The
// smaller size is for what compresses to more than half: it would gain less.
constexpr std::size_t k_frame_bytes = std::size_t{64} << 10;
constexpr std::size_t k_small_frame_bytes = std::size_t{8} << 10;
/// A compressed frame ends inside a sample at this size only.
constexpr std::size_t k_max_frame_bytes = std::size_t{1} << 20;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result) != 0U) {
    throw Error(ErrorCode::invalid_argument, fmt::format("zstd: {}", ZSTD_getErrorName(result)));
  }
  return result;
}

/// Whether compression would save more than an eighth, judged by four pieces of the payload. To compress all of a JPEG
/// takes longer than everything else.
class CompressionTest {
 public:
  bool compresses(Bytes payload) {
    constexpr std::size_t k_pieces = 4;
    constexpr std::size_t k_piece_bytes = std::size_t{4} << 10;
    constexpr int k_fast_level = 1;
    Bytes tried = payload;
    if (payload.size() > k_pieces * k_piece_bytes) {
      pieces_.clear();
      for (std::size_t i = 0; i < k_pieces; ++i) {
        const Bytes piece = payload.subspan((payload.size() - k_piece_bytes) / (k_pieces - 1) * i, k_piece_bytes);
        pieces_.insert(pieces_.end(), piece.begin(), piece.end());
      }
      tried = pieces_;
    }
    zstd_compress(tried, k_fast_level, out_);
    return out_.size() < tried.size() / 8 * 7;
  }

 private:
  std::vector<std::byte> pieces_;
  std::vector<std::byte> out_;
};

class ZstdSink : public Sink {
 public:
  ZstdSink(File file, int level) : file_(std::move(file)), context_(ZSTD_createCCtx()) {
    checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
    checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  }

  std::size_t joined_bytes() const override { return k_joined_bytes; }

  void write(std::span<const Bytes> parts) override {
    std::size_t compressed_bytes = 0;
    is_stored_.clear();
    for (const Bytes part : parts) {
      is_stored_.push_back(part.size() > k_joined_bytes && !test_.compresses(part));
      if (!is_stored_.back()) compressed_bytes += part.size();
    }
    if (content_.size() + compressed_bytes > frame_bytes_) cut();
    for (std::size_t i = 0; i < parts.size(); ++i) is_stored_[i] ? store(parts[i]) : collect(parts[i]);
  }

  void finish() override {
    cut();
    const std::vector<std::byte> table = make_seek_table(frames_);
    const Bytes parts[] = {table};
    put(parts);
    file_.close();
  }

 private:
  /// Adds to the open frame.
  void collect(Bytes part) {
    while (!part.empty()) {
      const std::size_t taken = std::min(part.size(), k_max_frame_bytes - content_.size());
      content_.insert(content_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(taken));
      part = part.subspan(taken);
      if (content_.size() == k_max_frame_bytes) cut();
    }
  }

  /// Ends the open frame and writes it out.
  void cut() {
    if (content_.empty()) return;
    frame_.resize(ZSTD_compressBound(content_.size()));
    const std::size_t size =
        checked(ZSTD_compress2(context_.get(), frame_.data(), frame_.size(), content_.data(), content_.size()));
    const Bytes parts[] = {Bytes(frame_).first(size)};
    put_frame(parts, content_.size());
    frame_bytes_ = size < content_.size() / 2 ? k_frame_bytes : k_small_frame_bytes;
    content_.clear();
  }

  /// Writes the payload as frames of about the same size that hold it unchanged.
  void store(Bytes payload) {
    cut();
    for (std::size_t left = (payload.size() - 1) / k_max_raw_frame_bytes + 1; left > 0; --left) {
      const Bytes content = payload.first(payload.size() / left);
      const RawFrameHead head = raw_frame_head(content.size());
      const auto end = raw_frame_end(content);
      const Bytes parts[] = {head.bytes(), content, end};
      put_frame(parts, content.size());
      payload = payload.subspan(content.size());
    }
  }

  void put_frame(std::span<const Bytes> parts, std::size_t content_bytes) {
    const std::uint64_t before = written_;
    put(parts);
    frames_.push_back({.compressed = static_cast<std::uint32_t>(written_ - before),
                       .content = static_cast<std::uint32_t>(content_bytes)});
  }

  void put(std::span<const Bytes> parts) {
    file_.write_all_at(written_, parts);
    for (const Bytes part : parts) written_ += part.size();
    writeback_.advance(file_.fd(), written_);
  }

  File file_;
  std::uint64_t written_ = 0;
  Writeback writeback_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  CompressionTest test_;
  std::vector<bool> is_stored_;  // of the parts that are being written
  std::size_t frame_bytes_ = k_frame_bytes;
  std::vector<std::byte> content_;  // of the open frame
  std::vector<std::byte> frame_;
  std::vector<FrameSizes> frames_;
};

}  // namespace

std::unique_ptr<Sink> make_zstd_sink(File file, int level) {
  return std::make_unique<ZstdSink>(std::move(file), level);
}

}  // namespace bale::tar
