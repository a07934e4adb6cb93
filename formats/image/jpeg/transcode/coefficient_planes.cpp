#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"

#include <algorithm>
#include <cstring>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::image_detail {

void CoefficientPlanes::open(const BaselineFrame& frame) {
  num_components_ = frame.num_components;
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    const BaselineComponent& component = frame.components[i];
    planes_[i] = {.across = frame.mcus_across * component.blocks_across,
                  .down = frame.mcus_down * component.blocks_down,
                  .real_across = divide_up(component.width, 8u),
                  .real_down = divide_up(component.height, 8u),
                  .mcu_across = component.blocks_across,
                  .mcu_down = component.blocks_down};
    size += planes_[i].row_size() * frame.mcus_down;
  }
  auto* at = reinterpret_cast<std::int16_t*>(memory_.get(size * sizeof(std::int16_t)));
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    planes_[i].blocks = at;
    at += planes_[i].row_size() * frame.mcus_down;
  }
}

void CoefficientPlanes::clear_row(std::uint32_t mcu_row) {
  for (const Plane& plane : planes()) std::ranges::fill(plane.row(mcu_row), std::int16_t{0});
}

bool CoefficientPlanes::fill_mcus(std::uint32_t mcu_row) {
  bool changed = false;
  for (const Plane& plane : planes()) {
    const std::uint32_t first_row = mcu_row * plane.mcu_down;
    for (std::uint32_t row = first_row; row < first_row + plane.mcu_down; ++row) {
      const bool is_real = row < plane.real_down;
      for (std::uint32_t column = is_real ? plane.real_across : 0; column < plane.across; ++column) {
        // The first row and the first column of an MCU are always real.
        const bool is_first = column % plane.mcu_across == 0;
        const std::int16_t dc =
            is_first ? *plane.block(column + plane.mcu_across - 1, row - 1) : *plane.block(column - 1, row);
        std::array<std::int16_t, 64> filling{dc};
        std::int16_t* const block = plane.block(column, row);
        changed = changed || !std::equal(filling.begin(), filling.end(), block);
        std::ranges::copy(filling, block);
      }
    }
  }
  return changed;
}

CoefficientRows CoefficientPlanes::rows(std::uint32_t mcu_row) const {
  CoefficientRows rows;
  for (std::size_t i = 0; i < num_components_; ++i) {
    rows[i] = {.coefficients = planes_[i].row(mcu_row).data(), .blocks_across = planes_[i].across};
  }
  return rows;
}

bool CoefficientReader::begin_baseline(const BaselineFrame& frame, CoefficientPlanes& planes, bool plain,
                                       BlockOrder order) {
  if (!baseline_.open(frame, plain, order == BlockOrder::zigzag)) return false;
  const CoefficientRows first = planes.rows(0);
  baseline_.store_in({&first, 1}, {0, frame.mcus_across}, order);
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

std::optional<Bytes> CoefficientReader::read_progressive(const jpeg_decompress_struct& info, const BaselineFrame& frame,
                                                         CoefficientPlanes& planes, bool plain, BlockOrder order) {
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
  progressive_.open(frame, {block_planes_.data(), all.size()}, order, plain);
  between_scans_.clear();
  if (!scans_.open(info)) return std::nullopt;
  while (true) {
    if (!progressive_.decode(scans_) || !progressive_.read_every_byte()) return std::nullopt;
    const std::byte* const marker = progressive_.rest().data() - 2;
    const ProgressiveScans::Next next = scans_.go_on(progressive_.marker(), progressive_.rest());
    if (next == ProgressiveScans::Next::refused) return std::nullopt;
    between_scans_.emplace_back(marker, scans_.data().data());
    if (next == ProgressiveScans::Next::end) break;
  }
  return scans_.is_complete() ? std::optional(scans_.data()) : std::nullopt;
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
  baseline_.store_in(rows, {0, frame.mcus_across}, BlockOrder::zigzag);
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
