#include "bale/formats/image/jpeg/seek_points.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"

namespace bale {
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
