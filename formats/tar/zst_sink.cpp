#include <zstd.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/writeback.hpp"
#include "bale/formats/authoring/seek_table.hpp"
#include "bale/formats/tar/sink.hpp"

namespace bale::tar {
namespace {

// A frame ends before a sample that would make it larger than one of these: the larger one compresses better, and from the
// smaller one a single sample is read sooner. The smaller one is used after content that does not compress, such as JPEGs.
constexpr std::size_t k_frame_bytes = std::size_t{1} << 20;
constexpr std::size_t k_small_frame_bytes = std::size_t{64} << 10;
/// A frame ends inside a sample at this size only, so that readers can keep it in memory.
constexpr std::size_t k_max_frame_bytes = std::size_t{32} << 20;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result) != 0U) {
    throw Error(ErrorCode::invalid_argument, fmt::format("zstd: {}", ZSTD_getErrorName(result)));
  }
  return result;
}

class ZstdSink : public Sink {
 public:
  ZstdSink(File file, int level) : file_(std::move(file)), context_(ZSTD_createCCtx()) {
    checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
    checked(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  }

  void write(std::span<const Bytes> parts) override {
    std::size_t total = 0;
    for (const Bytes part : parts) total += part.size();
    if (content_.size() + total > frame_bytes_) cut();
    for (Bytes part : parts) {
      while (!part.empty()) {
        const std::size_t taken = std::min(part.size(), k_max_frame_bytes - content_.size());
        content_.insert(content_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(taken));
        part = part.subspan(taken);
        if (content_.size() == k_max_frame_bytes) cut();
      }
    }
  }

  void finish() override {
    cut();
    put(make_seek_table(frames_));
    file_.close();
  }

 private:
  /// Ends the frame and writes it out.
  void cut() {
    if (content_.empty()) return;
    frame_.resize(ZSTD_compressBound(content_.size()));
    const std::size_t size =
        checked(ZSTD_compress2(context_.get(), frame_.data(), frame_.size(), content_.data(), content_.size()));
    put(Bytes(frame_).first(size));
    frames_.push_back(
        {.compressed = static_cast<std::uint32_t>(size), .content = static_cast<std::uint32_t>(content_.size())});
    frame_bytes_ = size < content_.size() / 8 * 7 ? k_frame_bytes : k_small_frame_bytes;
    content_.clear();
  }

  void put(Bytes bytes) {
    file_.write_at(written_, bytes);
    written_ += bytes.size();
    writeback_.advance(file_.fd(), written_);
  }

  File file_;
  std::uint64_t written_ = 0;
  Writeback writeback_;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::size_t frame_bytes_ = k_small_frame_bytes;
  std::vector<std::byte> content_;  // of the open frame
  std::vector<std::byte> frame_;
  std::vector<FrameSizes> frames_;
};

}  // namespace

std::unique_ptr<Sink> make_zstd_sink(File file, int level) {
  return std::make_unique<ZstdSink>(std::move(file), level);
}

}  // namespace bale::tar
