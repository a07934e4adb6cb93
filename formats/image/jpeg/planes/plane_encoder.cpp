#include "bale/formats/image/jpeg/planes/plane_encoder.hpp"

#include <algorithm>
#include <bit>

#include "bale/formats/image/jpeg/planes/plane_numbers.hpp"

namespace bale::image_detail {

/// DC values of the row, each as its difference from the one before, in groups of one width.
bool PlaneEncoder::put_dc(std::span<const std::int16_t> row) {
  const std::size_t count = row.size() / 64;
  std::int32_t before = row[0];
  for (std::size_t begin = 0; begin < count; begin += k_dc_group) {
    std::array<std::uint32_t, k_dc_group> differences{};
    std::uint32_t all = 0;
    for (std::size_t i = begin; i < std::min(begin + k_dc_group, count); ++i) {
      const std::int32_t value = row[i * 64];
      const std::int32_t difference = value - before;
      before = value;
      differences[i - begin] =
          static_cast<std::uint32_t>(difference) << 1 ^ static_cast<std::uint32_t>(difference >> 31);
      all |= differences[i - begin];
    }
    const auto width = static_cast<std::uint32_t>(std::bit_width(all));
    if (width > k_max_dc_bits) return false;
    dc_widths_.put(width, 4);
    for (const std::uint32_t difference : differences) dc_bits_.put(difference, width);
  }
  return true;
}

bool PlaneEncoder::append_row(const CoefficientPlanes& planes, std::uint32_t mcu_row, std::vector<std::byte>& out,
                              std::vector<std::byte>& classes) {
  std::size_t num_blocks = 0;
  for (const CoefficientPlanes::Plane& plane : planes.planes()) num_blocks += plane.row_size() / 64;
  blocks_.resize(num_blocks);
  sorted_.resize(num_blocks * k_num_kinds);
  std::array<std::uint32_t*, k_num_kinds> ends;
  for (std::size_t kind = 0; kind < k_num_kinds; ++kind) ends[kind] = sorted_.data() + kind * num_blocks;
  for (BitsOut& plane : planes_) plane.begin(num_blocks * k_most_bits);
  dc_widths_.begin(num_blocks * k_max_dc_bits);
  dc_bits_.begin((num_blocks + planes.planes().size() * k_dc_group) * k_max_dc_bits);
  const PlaneKernels& kernels = plane_kernels();
  std::vector<std::byte> firsts;
  std::uint32_t number = 0;
  for (const CoefficientPlanes::Plane& plane : planes.planes()) {
    const std::span<const std::int16_t> row = plane.row(mcu_row);
    append_i16(row[0], firsts);
    if (!put_dc(row)) return false;
    for (std::size_t at = 0; at < row.size(); at += 64, ++number) {
      BlockBits& block = blocks_[number];
      if (!kernels.look_at(row.data() + at, block)) return false;
      *ends[k_plane_classes.kind[block.number]]++ = number;
    }
  }
  for (std::size_t kind = 1; kind < k_num_kinds; ++kind) {
    kernels.put_blocks(blocks_, {sorted_.data() + kind * num_blocks, ends[kind]}, planes_);
  }
  std::size_t used = 1;
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    if (!planes_[i].bytes().empty()) used = i + 1;
  }
  append_number(used, out);
  for (std::size_t i = 0; i < used; ++i) append_number(planes_[i].bytes().size(), out);
  append_number(dc_bits_.bytes().size(), out);
  append(firsts, out);
  append(dc_widths_.bytes(), out);
  append(dc_bits_.bytes(), out);
  classes.resize(classes.size() + num_blocks);
  std::ranges::transform(blocks_, classes.end() - static_cast<std::ptrdiff_t>(num_blocks),
                         [](const BlockBits& block) { return static_cast<std::byte>(block.number); });
  for (std::size_t i = 0; i < used; ++i) append(planes_[i].bytes(), out);
  return true;
}

}  // namespace bale::image_detail
