#include <zlib.h>

#include <algorithm>
#include <vector>

#include "bale/formats/base/error.hpp"
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

}  // namespace bale::tar
