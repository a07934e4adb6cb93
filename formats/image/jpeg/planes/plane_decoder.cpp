#include "bale/formats/image/jpeg/planes/plane_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "bale/formats/image/jpeg/planes/plane_numbers.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint64_t bytes_for(std::uint64_t bits) { return (bits + 7) / 8; }

}  // namespace

void PlaneDecoder::open(const BaselineFrame& frame) {
  num_components_ = frame.num_components;
  num_blocks_ = 0;
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    const BaselineComponent& from = frame.components[i];
    components_[i] = {.mcu_across = from.blocks_across,
                      .mcu_down = from.blocks_down,
                      .across = frame.mcus_across * from.blocks_across};
    num_blocks_ += components_[i].num_blocks();
  }
  blocks_.resize(num_blocks_);
  dc_.resize(num_blocks_ + k_dc_group);
}

void PlaneDecoder::store_in(const CoefficientRows& to, const McuRange& stored, BlockOrder order) {
  order_ = order;
  auto block = blocks_.begin();
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    const Component& component = components_[i];
    const std::uint32_t begin = stored.begin * component.mcu_across;
    const std::uint32_t end = stored.end * component.mcu_across;
    for (std::uint32_t row = 0; row < component.mcu_down; ++row) {
      for (std::uint32_t column = 0; column < component.across; ++column) {
        const bool is_stored = column >= begin && column < end;
        (block++)->to =
            is_stored ? to[i].coefficients + (row * to[i].blocks_across + column - begin) * k_block_size : nullptr;
      }
    }
  }
}

bool PlaneDecoder::read_dc(Bytes widths, Bytes bits, const std::array<std::int16_t, 3>& firsts) {
  DcDifferences from{.data = reinterpret_cast<const std::uint8_t*>(bits.data()),
                     .end = bits.size() * 8,
                     .widths = reinterpret_cast<const std::uint8_t*>(widths.data())};
  std::int16_t* dc = dc_.data();
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    const std::uint32_t count = components_[i].num_blocks();
    if (!plane_kernels().add_dc(from, firsts.at(i), count, dc)) return false;
    dc += count;
  }
  return bytes_for(from.next) == bits.size();
}

bool PlaneDecoder::list_kinds(Bytes classes) {
  first_.fill(k_no_block);
  std::uint32_t largest = 0;
  for (std::size_t i = classes.size(); i-- > 0;) {
    const auto number = static_cast<std::uint8_t>(classes[i]);
    largest = std::max<std::uint32_t>(largest, number);
    std::uint16_t& first = first_[k_plane_classes.kind[number]];
    PlaneBlock& block = blocks_[i];
    block.dc = dc_[i];
    block.next = std::exchange(first, static_cast<std::uint16_t>(i));
    block.number = number;
  }
  return largest < k_num_classes;
}

bool PlaneDecoder::decode_row(Bytes row, std::size_t readable, Bytes classes) {
  if (num_blocks_ > k_no_block || classes.size() != num_blocks_) return false;
  NumberReader reader(row);
  const std::uint64_t num_planes = reader.number();
  if (num_planes > k_num_planes) return false;
  std::array<std::uint64_t, k_num_planes> sizes{};
  for (std::size_t i = 0; i < num_planes; ++i) sizes[i] = reader.number();
  const std::uint64_t dc_bytes = reader.number();
  std::array<std::int16_t, 3> firsts{};
  std::uint64_t groups = 0;
  for (std::uint32_t i = 0; i < num_components_; ++i) {
    firsts.at(i) = reader.i16();
    groups += (components_[i].num_blocks() + k_dc_group - 1) / k_dc_group;
  }
  const Bytes widths = reader.bytes((groups + 1) / 2);
  const Bytes dc_bits = reader.bytes(dc_bytes);
  const Bytes planes = reader.rest();
  if (reader.has_failed() || std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) != planes.size())
    return false;
  if (!read_dc(widths, dc_bits, firsts) || !list_kinds(classes)) return false;

  PlaneRow state{.data = reinterpret_cast<const std::uint8_t*>(planes.data()),
                 .end = planes.size() * 8,
                 .readable_end = (planes.size() + readable) * 8,
                 .blocks = blocks_.data(),
                 .order = order_};
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < k_num_planes; ++i) {
    state.next[i] = at * 8;
    at += sizes[i];
  }
  const auto begins = state.next;
  const PlaneKernels& kernels = plane_kernels();
  for (std::uint32_t kind = 0; kind < k_num_kinds; ++kind) {
    if (first_[kind] != k_no_block && !kernels.decode(state, kind, first_[kind])) return false;
  }
  for (std::size_t i = 0; i < k_num_planes; ++i) {
    if (bytes_for(state.next[i] - begins[i]) != sizes[i]) return false;
  }
  return true;
}

}  // namespace bale::image_detail
