// Compiled without floating-point contraction.
#include "bale/loader/transform/steps/mixture.hpp"

#include "bale/loader/transform/step.hpp"

namespace bale::transform_detail {

void start_sum(const std::uint8_t* values, std::size_t count, float weight, float* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] = weight * static_cast<float>(values[i]);
}

void add_to_sum(const std::uint8_t* values, std::size_t count, float weight, float* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<float>(values[i]);
}

void store_sum(const float* sums, std::size_t count, std::uint8_t* values) {
  for (std::size_t i = 0; i < count; ++i) {
    float value = sums[i] > 0.0F ? sums[i] : 0.0F;
    value = value < 255.0F ? value : 255.0F;
    values[i] = static_cast<std::uint8_t>(static_cast<int>(value));
  }
}

void blend_into(const std::uint8_t* values, std::size_t count, float alpha, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const int from = out[i];
    out[i] = static_cast<std::uint8_t>(
        static_cast<int>(static_cast<float>(from) + alpha * static_cast<float>(values[i] - from)));
  }
}

}  // namespace bale::transform_detail

namespace bale::step {

// Not in the header: a step that is not complete there has no ==.
bool operator==(const Mixture& a, const Mixture& b) {
  return a.rule == b.rule && a.share == b.share && a.weights == b.weights && a.chains == b.chains;
}

}  // namespace bale::step
