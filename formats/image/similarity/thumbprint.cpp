#include "bale/formats/image/similarity/thumbprint.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

namespace {

using Values = std::array<float, std::size_t{k_thumbprint_side} * k_thumbprint_side>;
/// Of one side: the share of each value of the source in each value of the window.
using Shares = std::array<std::array<float, k_thumbprint_side>, k_thumbprint_side>;

Shares shares_of(double begin, double end) {
  Shares shares{};
  const double step = (end - begin);
  for (unsigned to = 0; to < k_thumbprint_side; ++to) {
    const double first = begin * k_thumbprint_side + step * to;
    const double last = first + step;
    for (auto from = static_cast<unsigned>(first); from < k_thumbprint_side && from < last; ++from) {
      const double overlap = std::min(last, from + 1.0) - std::max(first, static_cast<double>(from));
      shares[to][from] = static_cast<float>(std::max(0.0, overlap) / step);
    }
  }
  return shares;
}

Values cut(const Thumbprint& print, const Window& window) {
  const Shares across = shares_of(window.left, window.right);
  const Shares down = shares_of(window.top, window.bottom);
  Values narrow{};  // columns of the window, rows of the source
  for (unsigned y = 0; y < k_thumbprint_side; ++y) {
    for (unsigned x = 0; x < k_thumbprint_side; ++x) {
      float sum = 0;
      for (unsigned from = 0; from < k_thumbprint_side; ++from) {
        sum += across[x][from] * static_cast<float>(print.luma[y * k_thumbprint_side + from]);
      }
      narrow[y * k_thumbprint_side + x] = sum;
    }
  }
  Values out{};
  for (unsigned y = 0; y < k_thumbprint_side; ++y) {
    for (unsigned from = 0; from < k_thumbprint_side; ++from) {
      const float share = down[y][from];
      if (share == 0) continue;
      for (unsigned x = 0; x < k_thumbprint_side; ++x)
        out[y * k_thumbprint_side + x] += share * narrow[from * k_thumbprint_side + x];
    }
  }
  return out;
}

}  // namespace

double similarity_at(const Thumbprint& whole, const Window& window, bool is_mirrored, const Thumbprint& part) {
  const Values a = cut(whole, window);
  double sum_a = 0;
  double sum_b = 0;
  double sum_aa = 0;
  double sum_bb = 0;
  double sum_ab = 0;
  for (unsigned y = 0; y < k_thumbprint_side; ++y) {
    for (unsigned x = 0; x < k_thumbprint_side; ++x) {
      const double value_a = a[y * k_thumbprint_side + (is_mirrored ? k_thumbprint_side - 1 - x : x)];
      const double value_b = part.luma[y * k_thumbprint_side + x];
      sum_a += value_a;
      sum_b += value_b;
      sum_aa += value_a * value_a;
      sum_bb += value_b * value_b;
      sum_ab += value_a * value_b;
    }
  }
  constexpr double k_count = k_thumbprint_side * k_thumbprint_side;
  const double variances = (sum_aa - sum_a * sum_a / k_count) * (sum_bb - sum_b * sum_b / k_count);
  return variances > 0 ? (sum_ab - sum_a * sum_b / k_count) / std::sqrt(variances) : 0;
}

Alignment align(const Thumbprint& whole, const Window& window, bool is_mirrored, const Thumbprint& part) {
  constexpr double k_min_side = 0.6;
  constexpr int k_rounds = 3;
  Alignment best{.similarity = similarity_at(whole, window, is_mirrored, part), .window = window};
  for (const double step : {0.03, 0.015, 0.0075}) {
    bool is_better = true;
    for (int round = 0; is_better && round < k_rounds; ++round) {
      is_better = false;
      for (double Window::*const edge : {&Window::left, &Window::top, &Window::right, &Window::bottom}) {
        for (const double by : {step, -step}) {
          Window moved = best.window;
          moved.*edge = std::clamp(moved.*edge + by, 0.0, 1.0);
          if (moved.right - moved.left < k_min_side || moved.bottom - moved.top < k_min_side) continue;
          const double similarity = similarity_at(whole, moved, is_mirrored, part);
          if (similarity <= best.similarity) continue;
          best = {.similarity = similarity, .window = moved};
          is_better = true;
        }
      }
    }
  }
  return best;
}

}  // namespace bale
