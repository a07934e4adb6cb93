// The decoding of blocks where no fast instruction puts bits in place: shuffles do. The coefficients of a block that
// are not zero are computed one after another, from their highest bits down, and then spread to their places. Included
// once per target by plane_kernels.cpp.
#if defined(BALE_PLANE_TABLES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_PLANE_TABLES_INL
#undef BALE_PLANE_TABLES_INL
#else
#define BALE_PLANE_TABLES_INL
#endif

#include "bale/formats/image/jpeg/planes/kernels/plane_store-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

/// Vectors of 16 bytes, with lanes for magnitudes of that many bits and a sign.
template <std::size_t k_bits>
struct Lanes {
  static constexpr std::size_t k_bytes = k_bits <= 7 ? 1 : 2;
  static constexpr std::size_t k_count = 16 / k_bytes;
  using T = std::conditional_t<k_bytes == 1, std::int8_t, std::int16_t>;
  using D = hn::CappedTag<T, k_count>;
  using V = hn::Vec<D>;
  // What a shuffle of a block's last values reads.
  using Values = std::array<T, 64 + k_count>;
};

/// The next values, each in the lane of the next bit of `mask` that is set; zeros in the others.
template <std::size_t k_bits>
HWY_ATTR HWY_INLINE typename Lanes<k_bits>::V spread(const typename Lanes<k_bits>::T* values, std::uint64_t mask) {
  const typename Lanes<k_bits>::D d;
  const hn::CappedTag<std::uint8_t, 16> d8;
  const auto next = hn::BitCast(d8, hn::LoadU(d, values));
  const std::uint8_t* const low = k_spread<Lanes<k_bits>::k_bytes>[mask & 0xFF].data();
  if constexpr (Lanes<k_bits>::k_bytes == 2) {
    return hn::BitCast(d, hn::TableLookupBytesOr0(next, hn::Load(d8, low)));
  } else {
    const hn::CappedTag<std::uint64_t, 2> d64;
    constexpr std::uint64_t k_each = 0x0101010101010101;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::memcpy(&first, low, sizeof(first));
    std::memcpy(&second, k_spread<1>[mask >> 8 & 0xFF].data(), sizeof(second));
    second += k_each * static_cast<std::uint64_t>(std::popcount(mask & 0xFF));
    const auto places = hn::InterleaveLower(d64, hn::Set(d64, first), hn::Set(d64, second));
    return hn::BitCast(d, hn::TableLookupBytesOr0(next, hn::BitCast(d8, places)));
  }
}

/// A one in each lane whose bit is set.
template <typename D>
HWY_ATTR HWY_INLINE hn::Mask<D> lanes_of(D d, std::uint64_t bits) {
  std::uint8_t bytes[8];
  std::memcpy(bytes, &bits, sizeof(bytes));
  return hn::LoadMaskBits(d, bytes);
}

/// From the values of the coefficients that reach a bit, those of all that reach the one below it: `reaching` says
/// which of these are in `from`, `next` has the next bit of each.
template <std::size_t k_bits>
HWY_ATTR HWY_INLINE void add_bit(const typename Lanes<k_bits>::T* from, typename Lanes<k_bits>::T* to,
                                 std::uint64_t count, std::uint64_t reaching, std::uint64_t next) {
  const typename Lanes<k_bits>::D d;
  const auto one = hn::Set(d, 1);
  for (std::uint64_t at = 0;;) {
    const auto value = hn::Max(spread<k_bits>(from, reaching), one);
    hn::Store(hn::Add(hn::Add(value, value), hn::IfThenElseZero(lanes_of(d, next), one)), d, to + at);
    at += Lanes<k_bits>::k_count;
    if (at >= count) return;
    from += std::popcount(low_bits(reaching, Lanes<k_bits>::k_count));
    reaching >>= Lanes<k_bits>::k_count;
    next >>= Lanes<k_bits>::k_count;
  }
}

/// The last step: values with their signs.
template <std::size_t k_bits>
HWY_ATTR HWY_INLINE void add_signs(const typename Lanes<k_bits>::T* from, typename Lanes<k_bits>::T* to,
                                   std::uint64_t count, std::uint64_t reaching, std::uint64_t signs) {
  const typename Lanes<k_bits>::D d;
  for (std::uint64_t at = 0;;) {
    const auto value = hn::Max(spread<k_bits>(from, reaching), hn::Set(d, 1));
    hn::Store(hn::IfThenElse(lanes_of(d, signs), hn::Neg(value), value), d, to + at);
    at += Lanes<k_bits>::k_count;
    if (at >= count) return;
    from += std::popcount(low_bits(reaching, Lanes<k_bits>::k_count));
    reaching >>= Lanes<k_bits>::k_count;
    signs >>= Lanes<k_bits>::k_count;
  }
}

/// Stores a block whose values follow one another, in natural order.
template <std::size_t k_bits>
HWY_ATTR HWY_INLINE void store_values(const typename Lanes<k_bits>::T* values, std::uint64_t mask,
                                      const std::array<MaskPart, 8>& parts, std::int16_t* block) {
  const hn::CappedTag<std::int16_t, 8> d16;
  for (std::size_t row = 0; row < 8; ++row) {
    const std::uint64_t part = (mask >> parts[row].first & parts[row].bits) << (row == 0 ? 1 : 0);
    std::int16_t* const to = block + row * 8;
    if constexpr (Lanes<k_bits>::k_bytes == 2) {
      hn::Store(spread<k_bits>(values, part), d16, to);
    } else {
      const hn::CappedTag<std::int8_t, 8> d;
      const hn::CappedTag<std::uint8_t, 8> d8;
      const auto places = hn::Load(d8, k_spread<1>[part].data());
      const auto value = hn::TableLookupBytesOr0(hn::BitCast(d8, hn::LoadU(d, values)), places);
      hn::Store(hn::PromoteTo(d16, hn::BitCast(d, value)), d16, to);
    }
    values += std::popcount(part);
  }
}

/// Decodes `most` blocks at most, from this one on. Returns the one after them.
template <std::size_t k_bits>
HWY_ATTR std::uint16_t decode_some_by_tables(PlaneRow& row, std::uint16_t number, std::uint64_t most) {
  using Values = typename Lanes<k_bits>::Values;
  alignas(16) std::array<Values, 2> values{};
  const std::uint8_t* const data = row.data;
  const auto take = [&](std::size_t plane, std::uint64_t bits) {
    const std::uint64_t taken = all_bits_at(data, row.next[plane]);
    row.next[plane] += bits;
    return low_bits(taken, bits);
  };
  for (; number != k_no_block && most > 0; --most) {
    const PlaneBlock& block = row.blocks[number];
    number = block.next;
    // By bits: how many coefficients reach them, and of those that reach one less which do.
    std::array<std::uint64_t, k_bits + 2> num{};
    std::array<std::uint64_t, k_bits + 2> reaching{};
    std::array<std::uint64_t, k_bits + 1> below{};
    reaching[1] = take(0, k_plane_classes.mask_bits[block.number]);
    num[1] = static_cast<std::uint64_t>(std::popcount(reaching[1]));
    const std::uint64_t signs = take(1, num[1]);
    for (std::size_t j = 2; j <= k_bits; ++j) {
      reaching[j] = take(j, num[j - 1]);
      num[j] = static_cast<std::uint64_t>(std::popcount(reaching[j]));
      below[j] = take(j, num[j]);
    }
    if (block.to == nullptr) continue;
    std::size_t from = 0;
    for (std::size_t j = k_bits; j >= 2; --j, from ^= 1) {
      add_bit<k_bits>(values[from].data(), values[from ^ 1].data(), num[j], reaching[j + 1], below[j]);
    }
    add_signs<k_bits>(values[from].data(), values[from ^ 1].data(), num[1], reaching[2], signs);
    store_values<k_bits>(values[from ^ 1].data(), reaching[1], k_mask_parts[block.number], block.to);
    store_ordered(block.to, row.order, block.to);
    *block.to = block.dc;
  }
  return number;
}

#else

template <std::size_t k_bits>
std::uint16_t decode_some_by_tables(PlaneRow& row, std::uint16_t number, std::uint64_t most);

#endif

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
