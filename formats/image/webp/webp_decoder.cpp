// Pillow shows the canvas of libwebp's animation decoder after the first frame, and drops its alpha. That canvas is
// black but for the frame: so one frame is decoded to where it belongs.
#include "bale/formats/image/webp/webp_decoder.hpp"

#include <cstring>
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

namespace bale::image_detail {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

/// nullptr if the file is incomplete, or not what libwebp takes.
Demuxer demux(Bytes bytes) {
  const WebPData data{as_uchar(bytes), bytes.size()};
  return Demuxer(WebPDemux(&data));
}

class Frame {
 public:
  explicit Frame(const WebPDemuxer* demuxer) {
    if (WebPDemuxGetFrame(demuxer, 1, &iterator_) == 0) fail_image(ErrorCode::damaged, "WebP: no image in it");
  }
  ~Frame() { WebPDemuxReleaseIterator(&iterator_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  const WebPIterator& operator*() const { return iterator_; }

 private:
  WebPIterator iterator_{};
};

ImageHeader open(Bytes bytes, std::uint64_t max_pixels) {
  const Demuxer demuxer = demux(bytes);
  if (demuxer == nullptr) fail_image(ErrorCode::damaged, "WebP: incomplete, or not a WebP that libwebp reads");
  const std::uint32_t flags = WebPDemuxGetI(demuxer.get(), WEBP_FF_FORMAT_FLAGS);
  const ImageHeader header{.kind = ImageKind::webp,
                           .width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                           .height = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT),
                           .channels = (flags & ALPHA_FLAG) != 0 ? 4u : 3u};
  check_pixel_budget(header.width, header.height, max_pixels);
  return header;
}

void decode(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb) {
  const ImageHeader header = open(bytes, max_pixels);
  const Demuxer demuxer = demux(bytes);
  const Frame frame(demuxer.get());
  const WebPIterator& part = *frame;
  const auto x = static_cast<std::uint32_t>(part.x_offset);
  const auto y = static_cast<std::uint32_t>(part.y_offset);
  const auto width = static_cast<std::uint32_t>(part.width);
  const auto height = static_cast<std::uint32_t>(part.height);
  if (x > header.width || width > header.width - x || y > header.height || height > header.height - y) {
    fail_image(ErrorCode::damaged, "WebP: the first frame exceeds its canvas");
  }
  const std::size_t stride = std::size_t{header.width} * 3;
  if (width != header.width || height != header.height) std::memset(rgb, 0, stride * header.height);
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) fail_image(ErrorCode::unsupported, "WebP: another version of libwebp");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = rgb + y * stride + std::size_t{x} * 3;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = stride * (height - 1) + std::size_t{width} * 3;
  const VP8StatusCode status = WebPDecode(part.fragment.bytes, part.fragment.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status != VP8_STATUS_OK) fail_image(ErrorCode::damaged, "WebP: the image data is damaged");
}

bool has_end(Bytes bytes) { return demux(bytes) != nullptr; }

}  // namespace

const WholeCodec k_webp_codec{open, decode, has_end};

}  // namespace bale::image_detail
