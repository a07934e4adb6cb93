// The sums of step::Mixture: 8-bit images, weighted in float32. Internal.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bale::transform_detail {

/// sums[i] = weight * values[i]
void start_sum(const std::uint8_t* values, std::size_t count, float weight, float* sums);
/// sums[i] += weight * values[i]
void add_to_sum(const std::uint8_t* values, std::size_t count, float weight, float* sums);
/// Truncated to 8 bits.
void store_sum(const float* sums, std::size_t count, std::uint8_t* values);

/// out = Image.blend(out, values, alpha). Precondition: alpha is within [0, 1].
void blend_into(const std::uint8_t* values, std::size_t count, float alpha, std::uint8_t* out);

}  // namespace bale::transform_detail
