// Vectors of pixels whose channels are apart, and tables of 256 bytes. Included once per target by change_colors.cpp.
//
// A vector of bytes becomes two of 16-bit lanes, those at even and those at odd places, and is put together again: this
// takes no shuffles.
#if defined(BALE_COLOR_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BALE_COLOR_VECTORS_INL
#undef BALE_COLOR_VECTORS_INL
#else
#define BALE_COLOR_VECTORS_INL
#endif

BALE_BEFORE_NAMESPACE();
namespace bale::image_detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::CappedTag<std::uint8_t, 64>;
using D16 = hn::Repartition<std::uint16_t, D8>;
using DI16 = hn::Repartition<std::int16_t, D8>;
using D32 = hn::Repartition<std::uint32_t, D8>;
using DI32 = hn::Repartition<std::int32_t, D8>;
using DFloat = hn::Repartition<float, D8>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using VI16 = hn::Vec<DI16>;
using V32 = hn::Vec<D32>;
using VI32 = hn::Vec<DI32>;
using VFloat = hn::Vec<DFloat>;

HWY_INLINE V8 bytes(int value) { return hn::Set(D8(), static_cast<std::uint8_t>(value)); }
HWY_INLINE V16 words(int value) { return hn::Set(D16(), static_cast<std::uint16_t>(value)); }
HWY_INLINE V16 times(const Multiplier& multiplier, V16 v) { return hn::Mul(v, hn::Load(D16(), multiplier.data())); }
HWY_INLINE VFloat floats(float value) { return hn::Set(DFloat(), value); }

/// The lanes of a vector at even and at odd places, in more bits.
struct Words {
  V16 even;
  V16 odd;
};

HWY_INLINE Words split(V8 v) {
  const V16 pairs = hn::BitCast(D16(), v);
  return {hn::And(pairs, words(0xFF)), hn::ShiftRight<8>(pairs)};
}
/// Of lanes below 256.
HWY_INLINE V8 join(const Words& w) { return hn::BitCast(D8(), hn::Or(w.even, hn::ShiftLeft<8>(w.odd))); }

/// Some pixels, one channel per plane. Loops run over whole blocks: after the last pixel there are zeros.
constexpr std::size_t k_block = 512;
struct Planes {
  alignas(64) std::uint8_t red[k_block];
  alignas(64) std::uint8_t green[k_block];
  alignas(64) std::uint8_t blue[k_block];
};

struct Pixels {
  V8 red;
  V8 green;
  V8 blue;
};

HWY_INLINE Pixels load(const Planes& planes, std::size_t i) {
  return {hn::Load(D8(), planes.red + i), hn::Load(D8(), planes.green + i), hn::Load(D8(), planes.blue + i)};
}
HWY_INLINE void store(const Pixels& pixels, Planes& planes, std::size_t i) {
  hn::Store(pixels.red, D8(), planes.red + i);
  hn::Store(pixels.green, D8(), planes.green + i);
  hn::Store(pixels.blue, D8(), planes.blue + i);
}

/// Replaces vectors of pixels by change(pixels).
template <typename Change>
HWY_INLINE void for_each_vector(Planes& planes, const Change& change) {
  for (std::size_t i = 0; i < k_block; i += hn::Lanes(D8())) store(change(load(planes, i)), planes, i);
}

#if BALE_AVX3_DL

/// Vectors that are put together of the bytes of three: which byte of each of them, and where in the result.
struct Mixture {
  alignas(64) std::uint8_t indices[3][3][64];  // [result][source]
  std::uint64_t places[3][3];
};

constexpr void add_to(Mixture& mixture, unsigned result, unsigned place, unsigned source, unsigned index) {
  mixture.indices[result][source][place] = static_cast<std::uint8_t>(index);
  mixture.places[result][source] |= std::uint64_t{1} << place;
}

/// From three vectors of pixels to vectors of their channels.
constexpr Mixture k_to_channels = [] {
  Mixture mixture{};
  for (unsigned byte = 0; byte < 192; ++byte) add_to(mixture, byte % 3, byte / 3, byte / 64, byte % 64);
  return mixture;
}();

/// And back.
constexpr Mixture k_to_pixels = [] {
  Mixture mixture{};
  for (unsigned byte = 0; byte < 192; ++byte) add_to(mixture, byte / 64, byte % 64, byte % 3, byte / 3);
  return mixture;
}();

/// One permutation of one vector is less than half the work of one of two vectors.
HWY_INLINE V8 mixed(const Mixture& mixture, int result, V8 a, V8 b, V8 c) {
  const auto& places = mixture.places[result];
  const auto indices = [&](int source) { return hn::Load(D8(), mixture.indices[result][source]).raw; };
  const __m512i first = _mm512_permutexvar_epi8(indices(0), a.raw);
  const __m512i second = _mm512_mask_permutexvar_epi8(first, places[1], indices(1), b.raw);
  return V8{_mm512_mask_permutexvar_epi8(second, places[2], indices(2), c.raw)};
}

HWY_INLINE Pixels load_pixels(const std::uint8_t* rgb) {
  const D8 d;
  const V8 a = hn::LoadU(d, rgb);
  const V8 b = hn::LoadU(d, rgb + 64);
  const V8 c = hn::LoadU(d, rgb + 128);
  return {mixed(k_to_channels, 0, a, b, c), mixed(k_to_channels, 1, a, b, c), mixed(k_to_channels, 2, a, b, c)};
}

HWY_INLINE void store_pixels(const Pixels& pixels, std::uint8_t* rgb) {
  for (int i = 0; i < 3; ++i) {
    hn::StoreU(mixed(k_to_pixels, i, pixels.red, pixels.green, pixels.blue), D8(), rgb + 64 * i);
  }
}

/// table[value] of every lane.
HWY_INLINE V8 look_up(const std::uint8_t* table, V8 values) {
  const D8 d;
  const auto half = [&](const std::uint8_t* from) {
    return _mm512_permutex2var_epi8(hn::LoadU(d, from).raw, values.raw, hn::LoadU(d, from + 64).raw);
  };
  return V8{_mm512_mask_blend_epi8(_mm512_movepi8_mask(values.raw), half(table), half(table + 128))};
}

#else

HWY_INLINE Pixels load_pixels(const std::uint8_t* rgb) {
  V8 red, green, blue;
  hn::LoadInterleaved3(D8(), rgb, red, green, blue);
  return {red, green, blue};
}
HWY_INLINE void store_pixels(const Pixels& pixels, std::uint8_t* rgb) {
  hn::StoreInterleaved3(pixels.red, pixels.green, pixels.blue, D8(), rgb);
}

/// table[value] of every lane, for values below 16.
HWY_INLINE V8 look_up_16(const std::uint8_t* table, V8 values) {
  return hn::TableLookupBytes(hn::LoadDup128(D8(), table), values);
}

/// By the highest bit of `values`.
HWY_INLINE V8 if_high_bit(V8 values, V8 yes, V8 no) {
  const hn::RebindToSigned<D8> d;
  return hn::BitCast(D8(), hn::IfNegativeThenElse(hn::BitCast(d, values), hn::BitCast(d, yes), hn::BitCast(d, no)));
}

/// The upper bits of every lane: value / 2^bits, modulo 16.
template <int bits>
HWY_INLINE V8 upper_bits(V8 values) {
  return hn::And(hn::BitCast(D8(), hn::ShiftRight<bits>(hn::BitCast(D16(), values))), bytes(15));
}

#endif

void split_pixels(const std::uint8_t* rgb, std::size_t count, Planes& planes) {
  std::size_t i = 0;
  const std::size_t step = hn::Lanes(D8());
  for (; i + step <= count; i += step) store(load_pixels(rgb + i * 3), planes, i);
  for (; i < k_block; ++i) {
    const bool there = i < count;
    planes.red[i] = there ? rgb[i * 3] : std::uint8_t{0};
    planes.green[i] = there ? rgb[i * 3 + 1] : std::uint8_t{0};
    planes.blue[i] = there ? rgb[i * 3 + 2] : std::uint8_t{0};
  }
}

void join_pixels(const Planes& planes, std::size_t count, std::uint8_t* rgb) {
  std::size_t i = 0;
  const std::size_t step = hn::Lanes(D8());
  for (; i + step <= count; i += step) store_pixels(load(planes, i), rgb + i * 3);
  for (; i < count; ++i) {
    rgb[i * 3] = planes.red[i];
    rgb[i * 3 + 1] = planes.green[i];
    rgb[i * 3 + 2] = planes.blue[i];
  }
}

}  // namespace
}  // namespace bale::image_detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
