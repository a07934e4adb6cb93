// Compiled without floating-point contraction.
#include "bale/loader/transform/pixels/erase.hpp"

#include <functional>

#include "bale/formats/base/random.hpp"
#include "bale/loader/transform/pixels/half.hpp"
#include "bale/loader/transform/pixels/places.hpp"
#include "bale/loader/transform/random/normal.hpp"

namespace bale::transform_detail {
namespace {

/// Calls value_of() for every value of the rectangle, in the order channel, row, column, and stores the result.
template <typename Value, typename ValueOf>
void fill(const step::Erase& erase, const Transform& transform, std::byte* out, const ValueOf& value_of) {
  const Places places = places_of(transform.layout, transform.width, transform.height, transform.channels());
  for (std::size_t channel = 0; channel < transform.channels(); ++channel) {
    for (std::size_t y = erase.top; y < erase.top + erase.height; ++y) {
      for (std::size_t x = erase.left; x < erase.left + erase.width; ++x) {
        const std::size_t index = channel * places.channel + y * places.row + x * places.column;
        store<Value>(out, index, value_of(channel));
      }
    }
  }
}

template <typename Value, typename Convert>
void fill_converted(const step::Erase& erase, const Transform& transform, std::byte* out, const Convert& convert) {
  using With = step::Erase::With;
  KeyedRandom random{erase.noise_seed};
  // A list for other images than RGB has one value for all channels.
  std::array<float, 4> colors{erase.value[0], erase.value[1], erase.value[2], erase.value[0]};
  if (erase.with == With::channel_noise) {
    for (std::size_t i = 0; i < transform.channels(); ++i) colors[i] = static_cast<float>(portable_normal(random));
  }
  fill<Value>(erase, transform, out, [&](std::size_t channel) {
    return convert(erase.with == With::pixel_noise ? static_cast<float>(portable_normal(random)) : colors[channel]);
  });
}

}  // namespace

void erase_converted(const step::Erase& erase, const Transform& transform, MutableBytes out) {
  switch (transform.dtype) {
    case DType::uint8:
      return fill_converted<std::uint8_t>(erase, transform, out.data(),
                                          [](float value) { return static_cast<std::uint8_t>(value); });
    case DType::float16:
      return fill_converted<std::uint16_t>(erase, transform, out.data(), to_float16);
    case DType::bfloat16:
      return fill_converted<std::uint16_t>(erase, transform, out.data(), to_bfloat16);
    case DType::uint16:
      return;  // such lists do not erase
    case DType::float32:
      return fill_converted<float>(erase, transform, out.data(), std::identity());
  }
}

}  // namespace bale::transform_detail
