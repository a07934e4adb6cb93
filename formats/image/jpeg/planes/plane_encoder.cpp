#include "bale/formats/image/jpeg/planes/plane_encoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bale/formats/image/jpeg/planes/plane_numbers.hpp"
#include "bale/formats/image/simd/cpu_bits.hpp"

namespace bale::image_detail {
namespace {

/// The bits of `bits` at `places`, moved together: the inverse of deposit_bits().
std::uint64_t extract_bits(std::uint64_t bits, std::uint64_t places) {
  std::uint64_t result = 0;
#if defined(__x86_64__)
  if (use_bmi2()) {
    asm("pext %[places], %[bits], %[result]" : [result] "=r"(result) : [bits] "r"(bits), [places] "r"(places));
    return result;
  }
#endif
  for (std::uint32_t at = 0; places != 0; places &= places - 1, ++at) {
    if ((bits & places & (~places + 1)) != 0) result |= std::uint64_t{1} << at;
  }
  return result;
}

std::uint8_t class_of(const BlockBits& bits) {
  if (bits.nonzero == 0) return 0;
  std::uint32_t most = k_max_ac_bits;
  while (most > 1 && bits.magnitudes[most - 1] == 0) --most;
  const auto last = static_cast<std::uint32_t>(std::bit_width(bits.nonzero) - 1);
  return plane_class(most, last, static_cast<std::uint32_t>(std::popcount(bits.nonzero)));
}

void append(const std::vector<std::byte>& bytes, std::vector<std::byte>& out) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

void PlaneEncoder::Bits::clear() {
  bytes_.clear();
  pending_ = 0;
  count_ = 0;
}

void PlaneEncoder::Bits::put(std::uint64_t bits, std::uint32_t count) {
  pending_ |= bits << count_;
  if (count_ + count < 64) {
    count_ += count;
    return;
  }
  const std::size_t size = bytes_.size();
  bytes_.resize(size + sizeof(pending_));
  std::memcpy(bytes_.data() + size, &pending_, sizeof(pending_));
  const std::uint32_t taken = 64 - count_;
  pending_ = taken == 64 ? 0 : bits >> taken;
  count_ = count - taken;
}

void PlaneEncoder::Bits::finish() {
  for (; count_ > 0; count_ -= std::min(count_, 8u), pending_ >>= 8) {
    bytes_.push_back(static_cast<std::byte>(pending_ & 0xFF));
  }
}

void PlaneEncoder::put_block(const Block& block) {
  const std::uint32_t kind = k_plane_classes.kind[block.number];
  const std::uint32_t bits = kind > k_max_ac_bits ? kind - k_max_ac_bits : kind;
  // [j]: which coefficients have j bits and more.
  std::array<std::uint64_t, k_max_ac_bits + 2> reaching{};
  for (std::uint32_t j = bits; j > 0; --j) reaching[j] = reaching[j + 1] | block.bits.magnitudes[j - 1];
  planes_[0].put(extract_bits(reaching[1], k_plane_classes.reach[block.number]),
                 k_plane_classes.mask_bits[block.number]);
  auto count = static_cast<std::uint32_t>(std::popcount(reaching[1]));
  planes_[1].put(extract_bits(block.bits.signs, reaching[1]), count);
  for (std::uint32_t j = 2; j <= bits; ++j) {
    planes_[j].put(extract_bits(reaching[j], reaching[j - 1]), count);
    count = static_cast<std::uint32_t>(std::popcount(reaching[j]));
    planes_[j].put(extract_bits(block.bits.magnitudes[j - 2], reaching[j]), count);
  }
}

/// DC values of the row, each as its difference from the one before, in groups of one width.
bool PlaneEncoder::put_dc(const CoefficientPlanes::Plane& plane, std::uint32_t mcu_row) {
  const std::int16_t* const first = plane.row(mcu_row).data();
  const std::uint32_t count = plane.across * plane.mcu_down;
  std::int32_t before = *first;
  for (std::uint32_t begin = 0; begin < count; begin += k_dc_group) {
    std::array<std::uint32_t, k_dc_group> differences{};
    std::uint32_t all = 0;
    for (std::uint32_t i = begin; i < std::min(begin + k_dc_group, count); ++i) {
      const std::int32_t value = first[std::size_t{i} * 64];
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
  blocks_.clear();
  for (auto& blocks : by_kind_) blocks.clear();
  for (Bits& plane : planes_) plane.clear();
  dc_widths_.clear();
  dc_bits_.clear();
  const PlaneKernels& kernels = plane_kernels();
  std::vector<std::byte> firsts;
  for (const CoefficientPlanes::Plane& plane : planes.planes()) {
    const std::span<const std::int16_t> row = plane.row(mcu_row);
    append_i16(row[0], firsts);
    if (!put_dc(plane, mcu_row)) return false;
    for (std::size_t at = 0; at < row.size(); at += 64) {
      Block& block = blocks_.emplace_back();
      if (!kernels.look_at(row.data() + at, block.bits)) return false;
      block.number = class_of(block.bits);
      by_kind_[k_plane_classes.kind[block.number]].push_back(static_cast<std::uint32_t>(blocks_.size() - 1));
    }
  }
  for (std::uint32_t kind = 1; kind < k_num_kinds; ++kind) {
    for (const std::uint32_t number : by_kind_[kind]) put_block(blocks_[number]);
  }
  std::size_t used = 1;
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    planes_[i].finish();
    if (!planes_[i].bytes().empty()) used = i + 1;
  }
  dc_widths_.finish();
  dc_bits_.finish();
  append_number(used, out);
  for (std::size_t i = 0; i < used; ++i) append_number(planes_[i].bytes().size(), out);
  append_number(dc_bits_.bytes().size(), out);
  append(firsts, out);
  append(dc_widths_.bytes(), out);
  append(dc_bits_.bytes(), out);
  for (const Block& block : blocks_) classes.push_back(static_cast<std::byte>(block.number));
  for (std::size_t i = 0; i < used; ++i) append(planes_[i].bytes(), out);
  return true;
}

}  // namespace bale::image_detail
