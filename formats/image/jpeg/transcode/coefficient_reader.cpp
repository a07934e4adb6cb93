#include "bale/formats/image/jpeg/transcode/coefficient_reader.hpp"

#include <algorithm>
#include <cstring>

#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"

namespace bale::image_detail {

bool CoefficientReader::begin_baseline(const BaselineFrame& frame, CoefficientPlanes& planes, bool plain) {
  if (!baseline_.open(frame, plain, true)) return false;
  const CoefficientRows first = planes.rows(0);
  baseline_.store_in({&first, 1}, {0, frame.mcus_across}, {.order = BlockOrder::zigzag});
  baseline_.go_to_top();
  return true;
}

bool CoefficientReader::next_row(CoefficientPlanes& planes, std::uint32_t mcu_row) {
  if (mcu_row > 0) {
    std::array<std::size_t, 3> steps{};
    std::ranges::transform(planes.planes(), steps.begin(), &CoefficientPlanes::Plane::row_size);
    baseline_.store_after(steps);
  }
  planes.clear_row(mcu_row);
  return baseline_.begin_row(true) && baseline_.finish_row();
}

bool CoefficientReader::read_progressive(const jpeg_decompress_struct& info, const BaselineFrame& frame,
                                         CoefficientPlanes& planes, bool plain) {
  const std::span<const CoefficientPlanes::Plane> all = planes.planes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CoefficientPlanes::Plane& plane = all[i];
    BlockPlane& to = block_planes_[i];
    to.blocks_across = plane.real_across;
    to.blocks_down = plane.real_down;
    to.mcu_across = plane.mcu_across;
    to.mcu_down = plane.mcu_down;
    to.first_column = 0;
    to.end_column = plane.across;
    to.first_row = 0;
    to.end_row = plane.down;
    to.stored_across = plane.across;
    to.coefficients = plane.blocks;
  }
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) planes.clear_row(row);
  progressive_.open(frame, {block_planes_.data(), all.size()}, {.order = BlockOrder::zigzag}, plain);
  if (!scans_.open(info)) return false;
  while (true) {
    if (!progressive_.decode(scans_) || !progressive_.read_every_byte()) return false;
    const ProgressiveScans::Next next = scans_.go_on(progressive_.marker(), progressive_.rest());
    if (next == ProgressiveScans::Next::refused || scans_.has_late_metadata()) return false;
    if (next == ProgressiveScans::Next::end) break;
  }
  return scans_.is_complete() && progressive_.marker() == jpeg_marker::k_eoi && progressive_.rest().empty();
}

bool CoefficientReader::compare(const BaselineFrame& frame, const CoefficientPlanes& planes,
                                std::span<const SeekPoint> points, bool plain) {
  constexpr std::uint32_t k_rows = EntropyDecoder::k_max_rows;
  if (points.size() != frame.mcus_down + 1 || !baseline_.open(frame, plain)) return false;
  std::array<CoefficientRows, k_rows> rows;
  std::size_t size = 0;
  for (const auto& plane : planes.planes()) size += plane.row_size();
  std::uint8_t* const memory = rows_.get(size * sizeof(std::int16_t) * k_rows);
  std::memset(memory, 0, size * sizeof(std::int16_t) * k_rows);
  auto* at = reinterpret_cast<std::int16_t*>(memory);
  for (CoefficientRows& to : rows) {
    to = planes.rows(0);
    for (std::size_t i = 0; i < planes.planes().size(); ++i) {
      to[i].coefficients = at;
      at += planes.planes()[i].row_size();
    }
  }
  baseline_.store_in(rows, {0, frame.mcus_across}, {.order = BlockOrder::zigzag});
  baseline_.begin_rows_at(points);
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    const auto place = baseline_.next_row();
    if (!place) return false;
    const bool ends_well = row + 1 == frame.mcus_down ? baseline_.ends_exactly(*place)
                                                      : baseline_.row_ends_at(*place, points[row], points[row + 1]);
    if (!ends_well || !take_equal_row(planes, row, rows[*place])) return false;
  }
  return true;
}

/// Whether the coefficients are those of `planes`. Sets them to zero.
bool CoefficientReader::take_equal_row(const CoefficientPlanes& planes, std::uint32_t mcu_row,
                                       const CoefficientRows& found) {
  for (std::size_t i = 0; i < planes.planes().size(); ++i) {
    const std::span<std::int16_t> expected = planes.planes()[i].row(mcu_row);
    if (std::memcmp(expected.data(), found[i].coefficients, expected.size_bytes()) != 0) return false;
    std::memset(found[i].coefficients, 0, expected.size_bytes());
  }
  return true;
}

}  // namespace bale::image_detail
