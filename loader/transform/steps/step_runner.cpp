#include "bale/loader/transform/steps/step_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/blur/blur.hpp"
#include "bale/formats/image/resample/resample_filter.hpp"
#include "bale/formats/image/warp/warp.hpp"
#include "bale/loader/transform/geometry/size_after.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/steps/color_run.hpp"

namespace bale::transform_detail {
namespace {

// The sums of step::Mixture: 8-bit images, weighted in float32. Compiled without floating-point contraction.

/// sums[i] = weight * values[i]
void start_sum(const std::uint8_t* values, std::size_t count, float weight, float* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] = weight * static_cast<float>(values[i]);
}

/// sums[i] += weight * values[i]
void add_to_sum(const std::uint8_t* values, std::size_t count, float weight, float* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += weight * static_cast<float>(values[i]);
}

/// Truncated to 8 bits.
void store_sum(const float* sums, std::size_t count, std::uint8_t* values) {
  for (std::size_t i = 0; i < count; ++i) {
    float value = sums[i] > 0.0F ? sums[i] : 0.0F;
    value = value < 255.0F ? value : 255.0F;
    values[i] = static_cast<std::uint8_t>(static_cast<int>(value));
  }
}

/// out = Image.blend(out, values, alpha). Precondition: alpha is within [0, 1].
void blend_into(const std::uint8_t* values, std::size_t count, float alpha, std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const int from = out[i];
    out[i] = static_cast<std::uint8_t>(
        static_cast<int>(static_cast<float>(from) + alpha * static_cast<float>(values[i] - from)));
  }
}

using image_detail::Raster;
using image_detail::RasterOut;

constexpr std::uint32_t k_max_kernel = 4095;
constexpr double k_max_radius = 4096;

Raster raster_of(const Picture& picture) {
  return {picture.pixels.data(), picture.width, picture.height, picture.channels};
}

std::size_t num_pixels(const Picture& picture) { return std::size_t{picture.width} * picture.height; }

/// Never shrinks, so that memory is not cleared twice.
void reserve_pixels(Picture& picture) {
  if (picture.pixels.size() < picture.size()) picture.pixels.resize(picture.size());
}

void check_picture(const Picture& picture) {
  check_that(picture.channels == 1 || picture.channels == 3, "picture", "must have 1 or 3 channels");
  check_size("picture", picture.width, picture.height);
  check_that(picture.pixels.size() >= picture.size(), "picture", "has too few pixels");
}

}  // namespace

namespace step_detail {

/// What steps write to, and the kernels that they run.
struct Workshop {
  /// Gives `other` the size that the picture gets, and memory for it.
  image_detail::RasterOut make_other(std::uint32_t width, std::uint32_t height, const Picture& picture) {
    other.width = width;
    other.height = height;
    other.channels = picture.channels;
    reserve_pixels(other);
    return {other.pixels.data(), width, height};
  }
  StepRunner& inner() {
    if (!chain_runner) chain_runner = std::make_unique<StepRunner>();
    return *chain_runner;
  }

  Resizer resizer{};  // first: it alone can throw, and GCC 14 warns if there is anything to destroy then
  Picture other{};    // what a step that cannot work in place writes
  image_detail::NearestResize nearest{};
  image_detail::Warper warper{};
  image_detail::Blurrer blurrer{};
  std::vector<float> sums{};
  Picture chain{};
  std::vector<std::uint8_t> blended{};
  std::unique_ptr<StepRunner> chain_runner{};  // of the chains of a mixture
};

}  // namespace step_detail

using step_detail::Workshop;

namespace {

/// Runs one step that is not for a ColorRun, on a picture that it is for.
struct RunStep {
  Workshop& shop;
  Picture& picture;

  bool is_mask() const { return picture.channels == 1; }
  std::uint8_t* pixels() const { return picture.pixels.data(); }
  std::size_t count() const { return num_pixels(picture); }

  /// Calls make(source, out) for a result of width x height pixels, which becomes the picture.
  template <typename Make>
  void replace(std::uint32_t width, std::uint32_t height, const Make& make) const {
    const RasterOut out = shop.make_other(width, height, picture);
    make(raster_of(picture), out);
    std::swap(picture, shop.other);
  }

  void operator()(const step::Crop& crop) const {
    if (crop.left == 0 && crop.top == 0 && crop.width == picture.width && crop.height <= picture.height) {
      picture.height = crop.height;
      return;
    }
    replace(crop.width, crop.height,
            [&](const Raster& source, const RasterOut& out) { image_detail::crop(source, crop.left, crop.top, out); });
  }
  void operator()(const step::Pad& pad) const {
    const auto [width, height] = size_after(pad, picture.width, picture.height);
    replace(width, height, [&](const Raster& source, const RasterOut& out) {
      image_detail::pad(source, pad.left, pad.top, pad.mode, pad.fill, out);
    });
  }
  void operator()(const step::Resize& resize) const {
    if (resize.width == picture.width && resize.height == picture.height) return;
    replace(resize.width, resize.height, [&](const Raster& source, const RasterOut& out) {
      if (is_mask() || resize.filter == Filter::nearest) return resize_nearest(source, out);
      ResizeSpec spec = resize_whole(source.width, source.height, out.width, out.height);
      spec.filter = resize.filter;
      spec.pass_order = resize.pass_order;
      shop.resizer.run(spec, {source.pixels, source.stride(), source.width, source.height}, out.pixels,
                       std::size_t{out.width} * 3);
    });
  }
  void resize_nearest(const Raster& source, const RasterOut& out) const {
    const image_detail::AxisSpec across{
        .input = source.width, .output = out.width, .count = out.width, .filter = Filter::nearest};
    const image_detail::AxisSpec down{
        .input = source.height, .output = out.height, .count = out.height, .filter = Filter::nearest};
    const std::size_t first = image_detail::nearest_needs(down).first * source.stride() +
                              std::size_t{image_detail::nearest_needs(across).first} * source.channels;
    shop.nearest.run(across, down, {source.pixels + first, source.stride(), source.channels}, out.pixels,
                     std::size_t{out.width} * source.channels);
  }
  void operator()(const step::HorizontalFlip&) const {
    replace(picture.width, picture.height,
            [](const Raster& source, const RasterOut& out) { image_detail::flip_across(source, out.pixels); });
  }
  void operator()(const step::VerticalFlip&) const {
    image_detail::flip_down(pixels(), picture.stride(), picture.height);
  }
  void operator()(const step::Rotate& rotate) const {
    using Kind = Rotation::Kind;
    const Rotation rotation = rotation_of(rotate, picture.width, picture.height);
    if (rotation.kind == Kind::copy) return;
    replace(rotation.width, rotation.height, [&](const Raster& source, const RasterOut& out) {
      if (rotation.kind == Kind::rotate_90) return image_detail::rotate_90(source, out.pixels);
      if (rotation.kind == Kind::rotate_180) return image_detail::rotate_180(source, out.pixels);
      if (rotation.kind == Kind::rotate_270) return image_detail::rotate_270(source, out.pixels);
      shop.warper.affine(source, rotation.matrix, rotate.sampling, rotate.fill, out);
    });
  }
  void operator()(const step::Affine& affine) const {
    for (const double value : affine.matrix) check_finite("Affine", value);
    replace(picture.width, picture.height, [&](const Raster& source, const RasterOut& out) {
      shop.warper.affine(source, affine.matrix, affine.sampling, affine.fill, out);
    });
  }
  void operator()(const step::Perspective& perspective) const {
    for (const double value : perspective.coefficients) check_finite("Perspective", value);
    replace(picture.width, picture.height, [&](const Raster& source, const RasterOut& out) {
      shop.warper.perspective(source, perspective.coefficients, perspective.sampling, perspective.fill, out);
    });
  }

  void operator()(const step::Sharpness& sharpness) const {
    check_finite("Sharpness", sharpness.factor);
    if (sharpness.factor == 1) return;
    replace(picture.width, picture.height, [&](const Raster& source, const RasterOut& out) {
      shop.blurrer.sharpen(source, sharpness.factor, out.pixels);
    });
  }
  void operator()(const step::PermuteChannels& permute) const {
    for (const std::uint8_t channel : permute.order) check_that(channel < 3, "PermuteChannels", "channels are 0 to 2");
    std::uint8_t* rgb = pixels();
    for (std::size_t i = 0; i < count(); ++i, rgb += 3) {
      const std::uint8_t before[3] = {rgb[0], rgb[1], rgb[2]};
      for (std::size_t channel = 0; channel < 3; ++channel) rgb[channel] = before[permute.order[channel]];
    }
  }
  void operator()(const step::GaussianBlur& blur) const {
    const auto is_kernel = [](std::uint32_t size) { return size % 2 == 1 && size <= k_max_kernel; };
    check_that(is_kernel(blur.kernel_width) && is_kernel(blur.kernel_height), "GaussianBlur",
               "sides of the kernel must be odd and at most 4095");
    check_that(blur.sigma_x > 0 && blur.sigma_y > 0 && std::isfinite(blur.sigma_x) && std::isfinite(blur.sigma_y),
               "GaussianBlur", "sigma must be finite and above 0");
    replace(picture.width, picture.height, [&](const Raster& source, const RasterOut& out) {
      shop.blurrer.gaussian(source, blur.kernel_width, blur.kernel_height, blur.sigma_x, blur.sigma_y, out.pixels);
    });
  }
  void operator()(const step::PillowGaussianBlur& blur) const {
    check_that(0 <= blur.radius && blur.radius <= k_max_radius, "PillowGaussianBlur", "radius must be 0 to 4096");
    shop.blurrer.pillow_gaussian(pixels(), picture.width, picture.height, blur.radius);
  }
  void operator()(const step::Erase& erase) const;
  void operator()(const step::Mixture& mixture) const;
  // Of boxes only.
  void operator()(const step::ZeroBoundingBoxes&) const {}
  void operator()(const step::ClampBoundingBoxes&) const {}
  void operator()(const step::SanitizeBoundingBoxes&) const {}

  /// Steps of a ColorRun do not come here.
  template <typename Change>
  void operator()(const Change&) const {}
};

void RunStep::operator()(const step::Erase& erase) const {
  if (erase.converted) return;
  check_that(erase.with == step::Erase::With::value, "Erase", "noise needs pixels that were converted to float");
  check_that(erase.left <= picture.width && erase.width <= picture.width - erase.left && erase.top <= picture.height &&
                 erase.height <= picture.height - erase.top,
             "Erase", "the rectangle must be inside the image");
  image_detail::Fill value;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    check_that(0 <= erase.value[channel] && erase.value[channel] <= 255, "Erase", "values must be 0 to 255");
    value[channel] = static_cast<std::uint8_t>(erase.value[channel]);
  }
  for (std::size_t y = erase.top; y < std::size_t{erase.top} + erase.height; ++y) {
    std::uint8_t* rgb = pixels() + y * picture.stride() + std::size_t{erase.left} * 3;
    for (std::uint32_t x = 0; x < erase.width; ++x, rgb += 3) std::copy(value.begin(), value.end(), rgb);
  }
}

void RunStep::operator()(const step::Mixture& mixture) const {
  using Rule = step::Mixture::Rule;
  check_that(mixture.weights.size() == mixture.chains.size(), "Mixture", "each chain needs one weight");
  check_finite("Mixture", mixture.share);
  const bool is_sum = mixture.rule == Rule::sum;
  check_that(is_sum || (0 <= mixture.share && mixture.share <= 1), "Mixture", "share of a blend must be 0 to 1");
  const std::size_t size = picture.size();
  if (shop.sums.size() < size) shop.sums.resize(size);
  float* sums = shop.sums.data();
  start_sum(pixels(), size, is_sum ? mixture.share : 0, sums);
  std::vector<std::uint8_t>& blended = shop.blended;
  if (mixture.rule != Rule::sum) blended.assign(pixels(), pixels() + size);
  for (std::size_t i = 0; i < mixture.chains.size(); ++i) {
    const float weight = mixture.weights[i];
    check_finite("Mixture", weight);
    Picture& chain = shop.chain;
    chain.width = picture.width;
    chain.height = picture.height;
    chain.channels = picture.channels;
    reserve_pixels(chain);
    std::copy_n(pixels(), size, chain.pixels.data());
    shop.inner().run(mixture.chains[i], chain);
    check_that(chain.width == picture.width && chain.height == picture.height, "Mixture",
               "steps of a chain must keep the size of the image");
    if (mixture.rule == Rule::blend_each) {
      check_that(0 <= weight && weight <= 1, "Mixture", "weights of blends must be 0 to 1");
      blend_into(chain.pixels.data(), size, weight, blended.data());
    } else {
      add_to_sum(chain.pixels.data(), size, weight, sums);
    }
  }
  switch (mixture.rule) {
    case Rule::sum:
      return store_sum(sums, size, pixels());
    case Rule::blend:
      store_sum(sums, size, blended.data());
      return blend_into(blended.data(), size, mixture.share, pixels());
    case Rule::blend_each:
      std::copy_n(blended.data(), size, pixels());
  }
}

/// Whether a step moves pixels. The others do nothing to masks.
bool is_geometry(const Step& step) {
  return std::holds_alternative<step::Crop>(step) || std::holds_alternative<step::Pad>(step) ||
         std::holds_alternative<step::Resize>(step) || std::holds_alternative<step::HorizontalFlip>(step) ||
         std::holds_alternative<step::VerticalFlip>(step) || std::holds_alternative<step::Rotate>(step) ||
         std::holds_alternative<step::Affine>(step) || std::holds_alternative<step::Perspective>(step);
}

}  // namespace

struct StepRunner::State {
  void run(std::span<const Step> steps, Picture& picture);
  void run(const Step& step, Picture& picture);

  Workshop shop{};
  ColorRun colors{};
};

void StepRunner::State::run(const Step& step, Picture& picture) {
  std::ignore = size_after(step, picture.width, picture.height);  // refuses sizes that are too large
  std::visit(RunStep{shop, picture}, step);
}

void StepRunner::State::run(std::span<const Step> steps, Picture& picture) {
  const bool is_mask = picture.channels == 1;
  const auto rgb = [&] { return RgbPixels{picture.pixels.data(), num_pixels(picture)}; };
  for (const Step& step : steps) {
    if (is_mask && !is_geometry(step)) continue;
    if (!is_mask && ColorRun::takes(step)) {
      colors.add(step, rgb());
      continue;
    }
    colors.finish(rgb());
    run(step, picture);
  }
  colors.finish(rgb());
}

StepRunner::StepRunner() : state_(std::make_unique<State>()) {}
StepRunner::~StepRunner() = default;
StepRunner::StepRunner(StepRunner&&) noexcept = default;
StepRunner& StepRunner::operator=(StepRunner&&) noexcept = default;

void StepRunner::run(std::span<const Step> steps, Picture& picture) {
  check_picture(picture);
  state_->colors.clear();  // after an error there may be some that never ran
  state_->run(steps, picture);
}

bool StepRunner::takes_in_place(std::span<const Step> steps) {
  return std::all_of(steps.begin(), steps.end(), ColorRun::takes);
}

void StepRunner::run_in_place(std::span<const Step> steps, std::uint8_t* rgb, std::size_t num_pixels) {
  ColorRun& colors = state_->colors;
  colors.clear();
  for (const Step& step : steps) colors.add(step, {rgb, num_pixels});
  colors.finish({rgb, num_pixels});
}

}  // namespace bale::transform_detail

namespace bale::step {

// Not in the header: a step that is not complete there has no ==.
bool operator==(const Mixture& a, const Mixture& b) {
  return a.rule == b.rule && a.share == b.share && a.weights == b.weights && a.chains == b.chains;
}

}  // namespace bale::step
