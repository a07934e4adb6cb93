// Pillow shows the canvas of libwebp's animation decoder after the first frame, and drops its alpha. That canvas is
// black but for the frame: so one frame is decoded to where it belongs.
#include "bale/formats/image/codec/whole_codec.hpp"

#include <cstring>
#include <memory>
#include <new>

#include <webp/decode.h>
#include <webp/demux.h>

#include "bale/formats/base/system/lazy_library.hpp"
#include "bale/formats/image/metadata/orientation.hpp"
#include "bale_lazy_webp.hpp"
#include "bale_lazy_webpdemux.hpp"

// The functions of libwebp that bale calls, which open it; internal.

#if defined(BALE_LAZY_WEBP) && defined(BALE_LAZY_WEBPDEMUX)

namespace bale::image_detail {

inline constinit LazyLibrary webp_library{BALE_LAZY_WEBP};
inline constinit LazyLibrary webpdemux_library{BALE_LAZY_WEBPDEMUX};

// clang-format off
#define BALE_WEBP(name) BALE_LAZY_FUNCTION(webp_library, name)
#define BALE_WEBPDEMUX(name) BALE_LAZY_FUNCTION(webpdemux_library, name)
BALE_WEBP(WebPDecode) BALE_WEBP(WebPFreeDecBuffer) BALE_WEBP(WebPInitDecoderConfigInternal)
BALE_WEBPDEMUX(WebPDemuxDelete) BALE_WEBPDEMUX(WebPDemuxGetChunk) BALE_WEBPDEMUX(WebPDemuxGetFrame)
BALE_WEBPDEMUX(WebPDemuxGetI) BALE_WEBPDEMUX(WebPDemuxInternal) BALE_WEBPDEMUX(WebPDemuxReleaseChunkIterator)
BALE_WEBPDEMUX(WebPDemuxReleaseIterator)
#undef BALE_WEBP
#undef BALE_WEBPDEMUX
// clang-format on

}  // namespace bale::image_detail

#endif

namespace bale::image_detail {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

/// nullptr if the file is incomplete, or not what libwebp takes.
Demuxer demux(Bytes bytes) {
  const WebPData data{as_uchar(bytes), bytes.size()};
  return Demuxer(WebPDemuxInternal(&data, 0, nullptr, WEBP_DEMUX_ABI_VERSION));
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

void decode_as(WEBP_CSP_MODE colors, std::size_t pixel_bytes, Bytes bytes, std::uint64_t max_pixels,
               std::uint8_t* pixels) {
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
  const std::size_t stride = std::size_t{header.width} * pixel_bytes;
  if (width != header.width || height != header.height) std::memset(pixels, 0, stride * header.height);
  WebPDecoderConfig config;
  if (WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION) == 0)
    fail_image(ErrorCode::unsupported, "WebP: another version of libwebp");
  config.output.colorspace = colors;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels + y * stride + x * pixel_bytes;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = stride * (height - 1) + width * pixel_bytes;
  const VP8StatusCode status = WebPDecode(part.fragment.bytes, part.fragment.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status == VP8_STATUS_UNSUPPORTED_FEATURE) {
    fail_image(ErrorCode::unsupported, "WebP: a feature that libwebp does not have");
  }
  if (status != VP8_STATUS_OK) fail_image(ErrorCode::damaged, "WebP: the image data is damaged");
}

void decode(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgb) {
  decode_as(MODE_RGB, 3, bytes, max_pixels, rgb);
}

/// Of an image without alpha, a canvas around the first frame is opaque.
void decode_rgba(Bytes bytes, std::uint64_t max_pixels, std::uint8_t* rgba) {
  const ImageHeader header = open(bytes, max_pixels);
  decode_as(MODE_RGBA, 4, bytes, max_pixels, rgba);
  if (header.channels == 4) return;
  for (std::size_t i = 0; i < std::size_t{header.width} * header.height; ++i) rgba[i * 4 + 3] = 255;
}

bool has_end(Bytes bytes) { return demux(bytes) != nullptr; }

/// The content of the file's first chunk of this name; empty if there is none. Borrows from the file.
Bytes chunk_of(const WebPDemuxer* demuxer, const char* name) {
  WebPChunkIterator chunk{};
  Bytes content;
  if (WebPDemuxGetChunk(demuxer, name, 1, &chunk) != 0) {
    content = {reinterpret_cast<const std::byte*>(chunk.chunk.bytes), chunk.chunk.size};
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return content;
}

int orientation(Bytes bytes) {
  const Demuxer demuxer = demux(bytes);
  if (demuxer == nullptr) return 1;
  const Bytes exif = chunk_of(demuxer.get(), "EXIF");
  if (const auto stated = exif.empty() ? std::nullopt : read_exif_orientation(exif)) return *stated;
  return read_xmp_orientation(as_text(chunk_of(demuxer.get(), "XMP ")));
}

}  // namespace

const WholeCodec k_webp_codec{open, decode, has_end, decode_rgba, nullptr, orientation};

}  // namespace bale::image_detail
