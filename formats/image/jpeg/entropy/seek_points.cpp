#include "bale/formats/image/jpeg/seek_points.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"

namespace bale::image_detail {
namespace {

constexpr std::size_t k_crc_bytes = sizeof(std::uint32_t);
constexpr std::size_t k_head_bytes = 3 * k_crc_bytes;
constexpr std::int32_t k_max_prediction = 16383;
constexpr std::uint32_t k_components = 3;

void put_u32(std::vector<std::byte>& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift));
}

/// LEB128: seven bits per byte, lowest first; the top bit means that more follow.
void put_number(std::vector<std::byte>& out, std::uint64_t value) {
  for (; value > 127; value >>= 7) out.push_back(static_cast<std::byte>(value | 128));
  out.push_back(static_cast<std::byte>(value));
}

std::uint64_t zigzag(std::int32_t value) {
  return value < 0 ? std::uint64_t{2} * static_cast<std::uint32_t>(-value) - 1 : std::uint64_t{2} * value;
}

class Numbers {
 public:
  explicit Numbers(Bytes bytes) : at_(as_uchar(bytes)), end_(at_ + bytes.size()) {}

  /// Fails and returns 0 if the value exceeds `most` or the bytes end too early.
  std::uint64_t next(std::uint64_t most) {
    std::uint64_t value = 0;
    for (int shift = 0; at_ < end_ && shift < 63; shift += 7) {
      value |= std::uint64_t{*at_ & 127u} << shift;
      if ((*at_++ & 128) != 0) continue;
      if (value > most) break;
      return value;
    }
    failed_ = true;
    return 0;
  }
  std::int32_t next_signed() {
    const auto value = static_cast<std::uint32_t>(next(4 * k_max_prediction));
    return (value & 1) != 0 ? -static_cast<std::int32_t>(value / 2) - 1 : static_cast<std::int32_t>(value / 2);
  }
  bool failed() const { return failed_; }
  bool at_end() const { return at_ == end_; }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
  bool failed_ = false;
};

/// The number of points of an image, without the first one and the end.
std::uint32_t points_needed(const BaselineFrame& frame, std::uint32_t rows_between) {
  return (frame.mcus_down - 1) / rows_between;
}

}  // namespace

std::vector<std::byte> SeekPoints::record(Bytes image, const BaselineFrame& frame) const {
  const std::uint32_t count = points_needed(frame, rows_between);
  if (count == 0 || image.size() > std::numeric_limits<std::uint32_t>::max()) return {};
  std::vector<std::byte> out(k_crc_bytes);
  put_u32(out, static_cast<std::uint32_t>(image.size()));
  put_u32(out, crc32c(image));
  put_number(out, rows_between);
  put_number(out, count);
  put_number(out, frame.num_components);
  for (std::uint32_t n = 1; n <= count; ++n) {
    put_number(out, points[n].position - points[n - 1].position);
    for (std::uint32_t i = 0; i < frame.num_components; ++i) {
      put_number(out, zigzag(points[n].predictions[i] - points[n - 1].predictions[i]));
    }
  }
  const std::uint32_t crc = crc32c(Bytes(out).subspan(k_crc_bytes));
  std::memcpy(out.data(), &crc, sizeof crc);
  return out;
}

bool SeekPoints::read(const KeptSeekPoints& kept, std::size_t image_bytes, const BaselineFrame& frame) {
  points.clear();
  if (kept.record.empty()) return false;
  const auto owner = owner_of_seek_points(kept.record);
  if (!owner || owner->image_bytes != image_bytes || owner->image_crc32c != kept.image_crc32c) return false;
  if (read_points(kept.record.subspan(k_head_bytes), frame)) return true;
  points.clear();
  return false;
}

bool SeekPoints::read_points(Bytes bytes, const BaselineFrame& frame) {
  Numbers numbers(bytes);
  rows_between = static_cast<std::uint32_t>(numbers.next(std::numeric_limits<std::uint32_t>::max()));
  if (rows_between == 0) return false;
  const std::uint64_t end = std::uint64_t{frame.scan.size()} * 8;
  const std::uint32_t count = points_needed(frame, rows_between);
  if (numbers.next(count) != count || numbers.next(k_components) != frame.num_components) return false;
  if (numbers.failed() || count > bytes.size()) return false;
  SeekPoint point;
  points.push_back(point);
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::uint64_t distance = numbers.next(end);
    point.position += distance;
    bool good = distance > 0 && point.position < end;
    for (std::uint32_t i = 0; i < frame.num_components; ++i) {
      point.predictions[i] += numbers.next_signed();
      good = good && point.predictions[i] <= k_max_prediction && point.predictions[i] >= -k_max_prediction;
    }
    if (!good || numbers.failed()) return false;
    points.push_back(point);
  }
  points.push_back({.position = end});
  return numbers.at_end();
}

}  // namespace bale::image_detail

namespace bale {

std::optional<SeekPointsOwner> owner_of_seek_points(Bytes record) {
  using namespace image_detail;
  if (record.size() < k_head_bytes) return std::nullopt;
  if (load_at<std::uint32_t>(record.data()) != crc32c(record.subspan(k_crc_bytes))) return std::nullopt;
  return SeekPointsOwner{.image_bytes = load_at<std::uint32_t>(record.data() + k_crc_bytes),
                         .image_crc32c = load_at<std::uint32_t>(record.data() + 2 * k_crc_bytes)};
}

namespace {

using image_detail::BaselineFrame;
using image_detail::EntropyDecoder;
using image_detail::SeekPoint;
using image_detail::SeekPoints;

std::vector<std::byte> make_record(Bytes image, const BaselineFrame& frame, std::uint32_t bytes_between) {
  const std::size_t bytes_of_row = std::max<std::size_t>(frame.scan.size() / frame.mcus_down, 1);
  SeekPoints found{.rows_between = static_cast<std::uint32_t>(
                       std::clamp<std::size_t>((bytes_between + bytes_of_row - 1) / bytes_of_row, 1, frame.mcus_down))};
  if (found.rows_between == frame.mcus_down) return {};
  EntropyDecoder decoder;
  if (!decoder.open(frame, false)) return {};
  decoder.go_to_top();
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    if (row % found.rows_between == 0) {
      found.points.emplace_back();
      if (!decoder.locate_row(found.points.back())) return {};
    }
    if (!decoder.skip_row()) return {};
  }
  return decoder.ends_well(true) ? found.record(image, frame) : std::vector<std::byte>{};
}

}  // namespace

std::vector<std::byte> make_seek_points(Bytes image, std::uint32_t bytes_between) {
  if (probe_image(image).kind != ImageKind::jpeg) return {};
  try {
    image_detail::JpegDecoder jpeg;
    jpeg.open(image);
    const auto frame = image_detail::baseline_frame(jpeg.info());
    return frame ? make_record(image, *frame, bytes_between) : std::vector<std::byte>{};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace bale
