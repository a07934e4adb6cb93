// Compiled without floating-point contraction.
#include <cmath>

#include "bale/loader/transform/draw/draw_node.hpp"
#include "bale/loader/transform/geometry/drawn_crops.hpp"
#include "bale/loader/transform/random/portable_math.hpp"

namespace bale::transform_detail {
namespace {

bool happens(double probability, const NodeRandom& random) { return random.part(0).uniform() < probability; }

double draw_factor(const Range& range, Stream stream, const NodeRandom& random) {
  KeyedRandom sequence = random.stream(stream);
  return draw_between(range, sequence);
}

/// Adds a step that changes nothing at a factor of 1 only if the factor is another.
template <typename Adjustment>
void draw_adjustment(double factor, Drawing& drawing) {
  if (factor != 1) drawing.add(Adjustment{.factor = factor});
}

}  // namespace

void draw_node(const transforms::ColorJitter& node, const NodeRandom& random, Drawing& drawing) {
  enum class Change : std::uint8_t { brightness, contrast, saturation, hue };
  std::array order{Change::brightness, Change::contrast, Change::saturation, Change::hue};
  random.stream(Stream::order).shuffle(order);
  for (const Change change : order) {
    switch (change) {
      case Change::brightness:
        draw_adjustment<step::Brightness>(draw_factor(node.brightness, Stream::brightness, random), drawing);
        break;
      case Change::contrast:
        draw_adjustment<step::Contrast>(draw_factor(node.contrast, Stream::contrast, random), drawing);
        break;
      case Change::saturation:
        draw_adjustment<step::Saturation>(draw_factor(node.saturation, Stream::saturation, random), drawing);
        break;
      case Change::hue:  // changes pixels even by a turn of 0: it converts them to 8-bit HSV and back
        if (node.hue != Range{0, 0}) {
          drawing.add(step::Hue{.turn = draw_factor(node.hue, Stream::hue, random)});
        }
        break;
    }
  }
}

void draw_node(const transforms::Grayscale&, const NodeRandom&, Drawing& drawing) { drawing.add(step::Grayscale{}); }

void draw_node(const transforms::RandomGrayscale& node, const NodeRandom& random, Drawing& drawing) {
  if (random.stream(Stream::gray).uniform() < node.p) drawing.add(step::Grayscale{});
}

void draw_node(const transforms::RandomPhotometricDistort& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  const auto draw = [&](const Range& range) -> std::optional<double> {
    if (sequence.uniform() >= node.p) return std::nullopt;
    return draw_between(range, sequence);
  };
  const auto brightness = draw(node.brightness);
  const auto contrast = draw(node.contrast);
  const auto saturation = draw(node.saturation);
  const auto hue = draw(node.hue);
  const bool contrast_before = sequence.uniform() < 0.5;
  if (brightness) draw_adjustment<step::Brightness>(*brightness, drawing);
  if (contrast && contrast_before) draw_adjustment<step::Contrast>(*contrast, drawing);
  if (saturation) draw_adjustment<step::Saturation>(*saturation, drawing);
  if (hue) drawing.add(step::Hue{.turn = *hue});
  if (contrast && !contrast_before) draw_adjustment<step::Contrast>(*contrast, drawing);
  if (sequence.uniform() >= node.p) return;
  step::PermuteChannels permutation;
  sequence.shuffle(permutation.order);
  drawing.add(permutation);
}

void draw_node(const transforms::RandomSolarize& node, const NodeRandom& random, Drawing& drawing) {
  if (happens(node.p, random)) drawing.add(step::Solarize{.threshold = node.threshold});
}

void draw_node(const transforms::RandomPosterize& node, const NodeRandom& random, Drawing& drawing) {
  if (happens(node.p, random)) drawing.add(step::Posterize{.bits = node.bits});
}

void draw_node(const transforms::RandomEqualize& node, const NodeRandom& random, Drawing& drawing) {
  if (happens(node.p, random)) drawing.add(step::Equalize{});
}

void draw_node(const transforms::RandomAutocontrast& node, const NodeRandom& random, Drawing& drawing) {
  if (happens(node.p, random)) drawing.add(step::AutoContrast{});
}

void draw_node(const transforms::RandomInvert& node, const NodeRandom& random, Drawing& drawing) {
  if (happens(node.p, random)) drawing.add(step::Invert{});
}

void draw_node(const transforms::RandomAdjustSharpness& node, const NodeRandom& random, Drawing& drawing) {
  if (happens(node.p, random)) draw_adjustment<step::Sharpness>(node.sharpness_factor, drawing);
}

void draw_node(const transforms::RandomChannelPermutation&, const NodeRandom& random, Drawing& drawing) {
  step::PermuteChannels permutation;
  random.part(0).shuffle(permutation.order);
  drawing.add(permutation);
}

void draw_node(const transforms::GaussianBlur& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  const double sigma = draw_between(node.sigma, sequence);
  drawing.add(step::GaussianBlur{
      .kernel_width = node.kernel_size[1], .kernel_height = node.kernel_size[0], .sigma_x = sigma, .sigma_y = sigma});
}

void draw_node(const transforms::PillowGaussianBlur& node, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  drawing.add(step::PillowGaussianBlur{.radius = draw_between(node.radius, sequence)});
}

// Compiled without floating-point contraction.

namespace {

/// A rectangle smaller than the image in both directions; nullopt if ten tries give none.
/// Source: torchvision's RandomErasing and timm's, which divides the area by the number of rectangles.
std::optional<Region> draw_rectangle(const transforms::RandomErasing& node, double area, KeyedRandom& random,
                                     const Drawing& drawing) {
  const Range log_ratio{portable_log(node.ratio.low), portable_log(node.ratio.high)};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * draw_between(node.scale, random);
    const double ratio = portable_exp(draw_between(log_ratio, random));
    const double height = round_half_even(std::sqrt(target * ratio));
    const double width = round_half_even(std::sqrt(target / ratio));
    if (!(height < drawing.height() && width < drawing.width())) continue;
    Region found{.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height)};
    found.y = static_cast<std::uint32_t>(random.below(drawing.height() - found.height + 1));
    found.x = static_cast<std::uint32_t>(random.below(drawing.width() - found.width + 1));
    return found;
  }
  return std::nullopt;
}

}  // namespace

void draw_erasing(const transforms::RandomErasing& node, bool converted, const NodeRandom& random, Drawing& drawing) {
  KeyedRandom sequence = random.part(0);
  if (sequence.uniform() >= node.p) return;
  const std::uint64_t count = node.min_count + sequence.below(node.max_count - node.min_count + 1);
  const double area = static_cast<double>(drawing.width()) * drawing.height() / static_cast<double>(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto found = draw_rectangle(node, area, sequence, drawing);
    if (!found) continue;
    drawing.add(step::Erase{.left = found->x,
                            .top = found->y,
                            .width = found->width,
                            .height = found->height,
                            .with = node.with,
                            .value = node.value,
                            .noise_seed = sequence.next(),
                            .converted = converted});
  }
}

}  // namespace bale::transform_detail
