#include <zlib.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/tar/frame_sink.hpp"

namespace bale::tar {
namespace {

constexpr int k_gzip_only = 15 + 16;  // windowBits: largest window, gzip wrapper
constexpr int k_memory_level = 8;     // zlib's default

class GzipSink : public FrameSink {
 public:
  GzipSink(File file, int level) : FrameSink(std::move(file)) {
    // zlib's own gzip header: no name, modification time 0.
    if (deflateInit2(&state_, level, Z_DEFLATED, k_gzip_only, k_memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error(ErrorCode::invalid_argument, "zlib refuses this compression level");
    }
  }
  ~GzipSink() override { deflateEnd(&state_); }

 protected:
  void compress(Bytes content, std::vector<std::byte>& frame) override {
    deflateReset(&state_);
    frame.resize(deflateBound(&state_, content.size()));
    state_.next_in = const_cast<Bytef*>(as_uchar(content));
    state_.avail_in = static_cast<uInt>(content.size());
    state_.next_out = reinterpret_cast<Bytef*>(frame.data());
    state_.avail_out = static_cast<uInt>(frame.size());
    if (deflate(&state_, Z_FINISH) != Z_STREAM_END) throw Error(ErrorCode::io, "zlib cannot compress");
    frame.resize(frame.size() - state_.avail_out);
  }

  void make_trailer(std::vector<std::byte>& trailer) override { trailer.clear(); }

 private:
  z_stream state_{};
};

}  // namespace

std::unique_ptr<Sink> make_gzip_sink(File file, int level) {
  return std::make_unique<GzipSink>(std::move(file), level);
}

}  // namespace bale::tar
