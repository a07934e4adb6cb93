#include "bale/formats/image/resample/resizer.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/resample/resample_filter.hpp"
#include "bale/formats/image/resample/resample_kernels.hpp"

namespace bale {
namespace {

using image_detail::AxisFilter;
using image_detail::AxisSpan;
using image_detail::AxisSpec;
using image_detail::RowsOut;

constexpr std::uint64_t k_max_pixels = 1u << 30;

bool is_sane_size(std::uint64_t width, std::uint64_t height) {
  return width != 0 && height != 0 && width <= k_max_pixels / height;
}

/// Whether [first, first + count) is within `size` positions.
bool is_inside(std::uint32_t first, std::uint32_t count, std::uint32_t size) {
  return count <= size && first <= size - count;
}

void check_spec(const ResizeSpec& spec) {
  const Region& window = spec.window;
  // The resized image as a whole may be huge, as only its window is made. No side may be.
  if (!is_sane_size(spec.width, 1) || !is_sane_size(spec.height, 1) ||
      !is_sane_size(spec.source_width, spec.source_height) || !is_sane_size(window.width, window.height) ||
      !is_inside(window.x, window.width, spec.width) || !is_inside(window.y, window.height, spec.height)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("cannot resize {}x{} pixels to {}x{} and take {}x{} at ({}, {}) of it", spec.source_width,
                    spec.source_height, spec.width, spec.height, window.width, window.height, window.x, window.y));
  }
}

AxisSpec across_of(const ResizeSpec& spec) {
  return {spec.source_width, spec.width, spec.window.x, spec.window.width, spec.filter, spec.mirror};
}

AxisSpec down_of(const ResizeSpec& spec) {
  return {spec.source_height, spec.height, spec.window.y, spec.window.height, spec.filter, false};
}

/// Half of the margin next to the crop, as Python's round(x / 2) gives it: ties to even.
std::uint32_t center_offset(std::uint32_t rest) {
  const std::uint32_t half = rest / 2;
  return rest % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

void copy_rows(const PixelView& source, const RowsOut& out) {
  for (std::uint32_t y = 0; y < source.height; ++y) {
    std::memcpy(out.rgb + y * out.stride, source.rgb + y * source.stride,
                std::size_t{source.width} * source.pixel_bytes);
  }
}

}  // namespace

ResizeSpec resize_whole(std::uint32_t source_width, std::uint32_t source_height, std::uint32_t width,
                        std::uint32_t height) {
  return {.source_width = source_width,
          .source_height = source_height,
          .width = width,
          .height = height,
          .window = {0, 0, width, height}};
}

ResizeSpec resize_short_and_center_crop(std::uint32_t source_width, std::uint32_t source_height,
                                        std::uint32_t resize_short, std::uint32_t width, std::uint32_t height) {
  if (!is_sane_size(source_width, source_height) || !is_sane_size(resize_short, resize_short)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("cannot resize the shorter side of {}x{} pixels to {}",
                                                         source_width, source_height, resize_short));
  }
  const std::uint32_t shorter = std::min(source_width, source_height);
  const std::uint32_t longer = std::max(source_width, source_height);
  // torchvision: int(size * long / short), a division of Python floats.
  const double scaled = static_cast<double>(std::uint64_t{resize_short} * longer) / shorter;
  if (scaled > static_cast<double>(k_max_pixels)) {
    throw Error(ErrorCode::unsupported, fmt::format("image of {}x{} pixels is too long and thin to resize to {}",
                                                    source_width, source_height, resize_short));
  }
  const auto long_side = static_cast<std::uint32_t>(scaled);
  const bool wide = source_width >= source_height;
  ResizeSpec spec =
      resize_whole(source_width, source_height, wide ? long_side : resize_short, wide ? resize_short : long_side);
  if (width == 0 || height == 0 || width > spec.width || height > spec.height) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("cannot crop {}x{} pixels from an image resized to {}x{}", width, height, spec.width, spec.height),
        {.hint = "resize_short must be at least as long as the sides of the crop"});
  }
  spec.window = {center_offset(spec.width - width), center_offset(spec.height - height), width, height};
  return spec;
}

bool rows_come_first(const ResizeSpec& spec) {
  if (spec.pass_order == PassOrder::pillow_12) return false;
  const auto lost = [](std::uint32_t before, std::uint32_t after) { return std::int64_t{before} - after; };
  const std::int64_t lost_rows = lost(spec.source_height, spec.height);
  return lost_rows > 0 && lost_rows > 2 * lost(spec.source_width, spec.width);
}

Region resize_needs(const ResizeSpec& spec) {
  check_spec(spec);
  const AxisSpan columns = image_detail::axis_needs(across_of(spec));
  const AxisSpan rows = image_detail::axis_needs(down_of(spec));
  return {columns.first, rows.first, columns.end - columns.first, rows.end - rows.first};
}

struct Resizer::State {
  image_detail::NearestResize nearest;
  AxisFilter across;
  AxisFilter down;
  image_detail::ReusedMemory between{std::size_t{1} << 20};  // output of the first pass
  image_detail::ResampleScratch scratch;

  /// The memory between the passes as `height` rows of `width` pixels.
  PixelView make_between(std::uint32_t width, std::uint32_t height, std::uint32_t pixel_bytes) {
    const std::size_t stride = std::size_t{width} * pixel_bytes;
    std::uint8_t* const rows = between.get(stride * height);
    return {.rgb = rows, .stride = stride, .width = width, .height = height, .pixel_bytes = pixel_bytes};
  }

  void pass_across(const PixelView& in, const RowsOut& out) {
    if (in.pixel_bytes == 3) return resample_across(in, across, out, scratch);
    in.pixel_bytes == 2 ? resample_across_16(in, across, out) : resample_across_any(in, across, out, scratch);
  }
  void pass_down(const PixelView& in, const RowsOut& out) {
    in.pixel_bytes == 2 ? resample_down_16(in, down, out) : resample_down(in, down, out);
  }
};

Resizer::Resizer() : state_(std::make_unique<State>()) {}
Resizer::~Resizer() = default;
Resizer::Resizer(Resizer&&) noexcept = default;
Resizer& Resizer::operator=(Resizer&&) noexcept = default;

void Resizer::run(const ResizeSpec& spec, const PixelView& source, std::uint8_t* out_rgb, std::size_t out_stride) {
  const Region needs = resize_needs(spec);
  const RowsOut out{out_rgb, out_stride};
  if (source.rgb == nullptr || out.rgb == nullptr || source.width != needs.width || source.height != needs.height ||
      source.stride < std::size_t{source.width} * source.pixel_bytes ||
      out.stride < std::size_t{spec.window.width} * source.pixel_bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}x{} pixels in rows of {} bytes where a resize needs {}x{}, to rows of {} bytes",
                            source.width, source.height, source.stride, needs.width, needs.height, out.stride));
  }
  // An axis that keeps its size is not filtered, but mirroring needs a pass over it.
  const bool need_across = spec.source_width != spec.width || spec.mirror;
  const bool need_down = spec.source_height != spec.height;
  State& state = *state_;
  if (spec.filter == Filter::nearest) {
    state.nearest.run(across_of(spec), down_of(spec), {source.rgb, source.stride, source.pixel_bytes}, out.rgb,
                      out.stride);
    return;
  }
  const bool exact = source.pixel_bytes == 2;
  if (need_across) state.across.assign(across_of(spec), exact);
  if (need_down) state.down.assign(down_of(spec), exact);
  if (!need_across && !need_down) {
    copy_rows(source, out);
  } else if (!need_down) {
    state.pass_across(source, out);
  } else if (!need_across) {
    state.pass_down(source, out);
  } else if (rows_come_first(spec)) {
    const PixelView between = state.make_between(source.width, spec.window.height, source.pixel_bytes);
    state.pass_down(source, {state.between.data(), between.stride});
    state.pass_across(between, out);
  } else {
    const PixelView between = state.make_between(spec.window.width, source.height, source.pixel_bytes);
    state.pass_across(source, {state.between.data(), between.stride});
    state.pass_down(between, out);
  }
}

}  // namespace bale

// Resizes whole images that own their pixels, with Resizer.
#include "bale/formats/image/codec/codec.hpp"

namespace bale {
namespace {

Image resize(const Image& image, const ResizeSpec& spec) {
  const Region needs = resize_needs(spec);
  const std::size_t stride = std::size_t{image.width} * 3;
  const PixelView source{image.rgb.data() + needs.y * stride + std::size_t{needs.x} * 3, stride, needs.width,
                         needs.height};
  Image out = image_detail::make_image(spec.window.width, spec.window.height);
  Resizer().run(spec, source, out.rgb.data(), std::size_t{out.width} * 3);
  return out;
}

}  // namespace

Image resize_image(const Image& image, std::uint32_t width, std::uint32_t height) {
  image_detail::check_pixels(image);
  return resize(image, resize_whole(image.width, image.height, width, height));
}

Image resize_and_center_crop(const Image& image, std::uint32_t size) {
  image_detail::check_pixels(image);
  return resize(image, resize_short_and_center_crop(image.width, image.height, size, size, size));
}

}  // namespace bale
