#include "bale/formats/image/similarity/thumbprint.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace bale {
namespace {

/// The pixels of one side that a value covers, and how much of the first and the last.
struct Span {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  double first_weight = 1;
  double last_weight = 1;

  double weight(std::uint32_t at) const {
    if (at == first) return first_weight;
    return at == last ? last_weight : 1;
  }
};

std::array<Span, k_thumbprint_side> spans_of(double length, std::uint32_t pixels) {
  std::array<Span, k_thumbprint_side> spans;
  for (std::uint32_t i = 0; i < k_thumbprint_side; ++i) {
    const double begin = length * i / k_thumbprint_side;
    const double end = length * (i + 1) / k_thumbprint_side;
    Span& span = spans[i];
    span.first = std::min(static_cast<std::uint32_t>(begin), pixels - 1);
    span.last = std::clamp(static_cast<std::uint32_t>(std::ceil(end)) - 1, span.first, pixels - 1);
    span.first_weight = std::min(end, span.first + 1.0) - begin;
    span.last_weight = end - span.last;
    if (span.first == span.last) span.first_weight = 1;
  }
  return spans;
}

// ITU-R BT.601.
double luma(const std::uint8_t* rgb) { return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]; }

}  // namespace

double Thumbprint::contrast() const {
  double sum = 0;
  double squares = 0;
  for (const double value : luma) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(luma.size());
  return std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
}

Thumbprint make_thumbprint(const ReducedImage& reduced) {
  const Image& image = reduced.image;
  const std::array<Span, k_thumbprint_side> columns = spans_of(reduced.width, image.width);
  const std::array<Span, k_thumbprint_side> rows = spans_of(reduced.height, image.height);
  Thumbprint print;
  for (std::uint32_t row = 0; row < k_thumbprint_side; ++row) {
    std::array<double, k_thumbprint_side> sums{};
    double height = 0;
    for (std::uint32_t y = rows[row].first; y <= rows[row].last; ++y) {
      const double weight = rows[row].weight(y);
      const std::uint8_t* const pixels = image.rgb.data() + std::size_t{y} * image.width * 3;
      height += weight;
      for (std::uint32_t column = 0; column < k_thumbprint_side; ++column) {
        double sum = 0;
        double width = 0;
        for (std::uint32_t x = columns[column].first; x <= columns[column].last; ++x) {
          const double part = columns[column].weight(x);
          sum += part * luma(pixels + std::size_t{x} * 3);
          width += part;
        }
        sums[column] += weight * sum / width;
      }
    }
    for (std::uint32_t column = 0; column < k_thumbprint_side; ++column) {
      print.luma[row * k_thumbprint_side + column] = static_cast<std::uint8_t>(std::lround(sums[column] / height));
    }
  }
  return print;
}

}  // namespace bale
