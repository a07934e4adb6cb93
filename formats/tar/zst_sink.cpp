#include <zstd.h>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/tar/frame_sink.hpp"
#include "bale/formats/tar/seek_table.hpp"

namespace bale::tar {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result) != 0U) {
    throw Error(ErrorCode::invalid_argument, fmt::format("zstd: {}", ZSTD_getErrorName(result)));
  }
  return result;
}

class ZstdSink : public FrameSink {
 public:
  ZstdSink(File file, int level) : FrameSink(std::move(file)), context_(ZSTD_createCCtx()) {
    checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
    checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  }

 protected:
  void compress(Bytes content, std::vector<std::byte>& frame) override {
    frame.resize(ZSTD_compressBound(content.size()));
    frame.resize(checked(ZSTD_compress2(context_.get(), frame.data(), frame.size(), content.data(), content.size())));
    frames_.push_back({.compressed = static_cast<std::uint32_t>(frame.size()),
                       .content = static_cast<std::uint32_t>(content.size())});
  }

  void make_trailer(std::vector<std::byte>& trailer) override { trailer = make_seek_table(frames_); }

 private:
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::vector<FrameSizes> frames_;
};

}  // namespace

std::unique_ptr<Sink> make_zstd_sink(File file, int level) {
  return std::make_unique<ZstdSink>(std::move(file), level);
}

}  // namespace bale::tar
