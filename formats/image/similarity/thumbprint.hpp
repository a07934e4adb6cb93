// Thumbprint: an image shrunk to 16 x 16 gray values, whatever its shape. What near duplicates are searched and
// compared by.
//
// Threads: plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/image/reduced_image.hpp"

namespace bale {

inline constexpr std::uint32_t k_thumbprint_side = 16;
/// decode_reduced()'s min_side for make_thumbprint(): two pixels per value.
inline constexpr std::uint32_t k_thumbprint_min_side = 2 * k_thumbprint_side;

struct Thumbprint {
  std::array<std::uint8_t, std::size_t{k_thumbprint_side} * k_thumbprint_side> luma{};  // rows from top to bottom

  /// Standard deviation of the values, 0..127.
  double contrast() const;
};

/// Averages the area of each value, with pixels at its edges in part.
Thumbprint make_thumbprint(const ReducedImage& reduced);

/// A rectangle of an image, in fractions of its sides: 0 <= left < right <= 1.
struct Window {
  double left = 0;
  double top = 0;
  double right = 1;
  double bottom = 1;
};

// How much two images look the same if one of them is a part of the other.
//
// Threads: pure functions; may be called from any thread.

struct Alignment {
  double similarity = 0;  // correlation of the values, -1..1
  Window window{};        // of the larger image, that shows what the other one does
};

/// The correlation of `whole` within `window`, mirrored left to right if `is_mirrored`, and `part`. 0 if one of them
/// has no contrast.
double similarity_at(const Thumbprint& whole, const Window& window, bool is_mirrored, const Thumbprint& part);

/// Moves the edges of `window` until the similarity gets no larger, by at most about a tenth of the image.
Alignment align(const Thumbprint& whole, const Window& window, bool is_mirrored, const Thumbprint& part);

}  // namespace bale
