#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

#include <algorithm>
#include <array>

#include "bale/formats/image/codec/byte_reader.hpp"

// The rules are those of libjpeg's jdmarker.c and of initial_setup() in jdinput.c.
namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_max_side = 65'500;  // JPEG_MAX_DIMENSION
constexpr std::uint32_t k_max_sampling = 4;
constexpr std::uint32_t k_tables = 4;  // of each kind

/// A segment without its marker and length.
class Segment {
 public:
  Segment(const ByteReader& in, std::size_t at, std::size_t end) : in_(in), at_(at), end_(end) {}
  std::size_t left() const { return end_ - at_; }
  /// Precondition: left() is not 0.
  std::uint32_t take() { return in_.u8(at_++); }
  void skip(std::size_t bytes) { at_ += bytes; }

 private:
  const ByteReader& in_;
  std::size_t at_;
  std::size_t end_;
};

bool has_good_huffman_tables(Segment segment) {
  constexpr std::size_t k_lengths = 16;
  while (segment.left() != 0) {
    if (segment.left() < 1 + k_lengths) return false;
    const std::uint32_t number = segment.take();
    std::size_t codes = 0;
    for (std::size_t i = 0; i < k_lengths; ++i) codes += segment.take();
    if ((number & ~0x10U) >= k_tables || codes > 256 || codes > segment.left()) return false;
    segment.skip(codes);
  }
  return true;
}

bool has_good_quantizers(Segment segment) {
  while (segment.left() != 0) {
    const std::uint32_t precision_and_number = segment.take();
    const std::size_t bytes = precision_and_number < 0x10 ? 64 : 128;
    if (precision_and_number > 0x13 || (precision_and_number & 0xF) >= k_tables || bytes > segment.left()) return false;
    segment.skip(bytes);
  }
  return true;
}

/// The components of a frame, in its order.
struct Frame {
  std::size_t num_components = 0;  // 0: no frame yet
  std::array<std::uint32_t, 4> ids{};
};

bool read_frame_segment(Segment segment, Frame& frame) {
  if (frame.num_components != 0 || segment.left() < 6) return false;
  const std::uint32_t precision = segment.take();
  const auto take_side = [&] {
    const std::uint32_t high = segment.take();
    return high << 8 | segment.take();
  };
  const std::uint32_t height = take_side();
  const std::uint32_t width = take_side();
  const std::size_t count = segment.take();
  if (precision != 8 || height == 0 || width == 0 || height > k_max_side || width > k_max_side) return false;
  if ((count != 1 && count != 3 && count != 4) || segment.left() != 3 * count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    frame.ids[i] = segment.take();
    const std::uint32_t sampling = segment.take();
    const std::uint32_t across = sampling >> 4;
    const std::uint32_t down = sampling & 0xF;
    if (across == 0 || across > k_max_sampling || down == 0 || down > k_max_sampling) return false;
    if (segment.take() >= k_tables) return false;
    if (std::find(frame.ids.begin(), frame.ids.begin() + i, frame.ids[i]) != frame.ids.begin() + i) return false;
  }
  frame.num_components = count;
  return true;
}

/// Whether the scan has all components of the frame, in its order.
bool is_whole_scan(Segment segment, const Frame& frame) {
  constexpr std::size_t k_after_components = 3;
  const std::size_t count = frame.num_components;
  if (count == 0 || segment.left() != 1 + 2 * count + k_after_components || segment.take() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (segment.take() != frame.ids[i]) return false;
    const std::uint32_t tables = segment.take();
    if (tables >> 4 >= k_tables || (tables & 0xF) >= k_tables) return false;
  }
  return true;
}

}  // namespace

std::optional<Bytes> plain_jpeg_scan(Bytes image) {
  const ByteReader in(image);
  if (!in.matches(0, "\xFF\xD8")) return std::nullopt;
  Frame frame;
  for (std::size_t at = 2; in.has(at, 4) && in.u8(at) == 0xFF;) {
    const std::uint32_t marker = in.u8(at + 1);
    const std::size_t length = in.be16(at + 2);
    if (length < 2 || !in.has(at + 2, length)) break;
    const std::size_t end = at + 2 + length;
    const Segment segment(in, at + 4, end);
    const bool is_skipped =
        (marker >= jpeg_marker::k_app0 && marker <= jpeg_marker::k_app15) || marker == jpeg_marker::k_com;
    bool is_good = is_skipped;
    if (marker == jpeg_marker::k_dht) is_good = has_good_huffman_tables(segment);
    if (marker == jpeg_marker::k_dqt) is_good = has_good_quantizers(segment);
    if (marker == jpeg_marker::k_dri) is_good = segment.left() == 2;
    if (marker == jpeg_marker::k_sof0 || marker == jpeg_marker::k_sof1) is_good = read_frame_segment(segment, frame);
    if (marker == jpeg_marker::k_sos) {
      if (!is_whole_scan(segment, frame)) break;
      return image.subspan(end);
    }
    if (!is_good) break;
    at = end;
  }
  return std::nullopt;
}

}  // namespace bale::image_detail
