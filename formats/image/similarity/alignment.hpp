// How much two images look the same if one of them is a part of the other.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include "bale/formats/image/similarity/thumbprint.hpp"

namespace bale {

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
