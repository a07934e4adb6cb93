// View: makes one image of a batch from a decoded one, by the steps that its transform draws.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/region.hpp"
#include "bale/formats/image/resample/resizer.hpp"
#include "bale/loader/transform/box.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/pixels/convert.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/steps/mode_runners.hpp"
#include "bale/loader/transform/steps/step_runner.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::transform_detail {

// FusedStart: the first steps of an image, done while it is decoded and resized instead of one after the other.
struct FusedStart {
  Region needed{};                     // pixels to decode
  std::optional<ResizeSpec> resize{};  // then
  std::size_t num_steps = 0;           // that this does

  /// The size after these steps.
  std::uint32_t width() const { return resize ? resize->window.width : needed.width; }
  std::uint32_t height() const { return resize ? resize->window.height : needed.height; }
};

/// Crops, a resize, crops of the result and a horizontal flip, as far as `steps` begins with them. The pixels are those
/// of the steps one after the other: a resized pixel depends on the pixels that its filter reaches only.
FusedStart fuse_start(std::span<const Step> steps, std::uint32_t width, std::uint32_t height);

/// Memory of images with alpha.
struct AlphaScratch {
  std::vector<std::uint8_t> before{};  // what is resized, multiplied by its alpha
  std::vector<std::uint8_t> resized{};
  AlphaPicture picture{};
};

/// Scratch memory that the views of an image share, since they are made one after the other.
struct ViewScratch {
  Resizer resizer{};
  StepRunner runner{};
  Picture picture{};  // before it is converted to the batch's type and layout
  std::vector<std::uint8_t> gray{};
  AlphaScratch alpha{};
  Gray16Runner gray_16{};
};

class View {
 public:
  /// Precondition: check_transform(transform) passes, and its shape is not raw.
  explicit View(const Transform& transform) : transform_(transform), converter_(transform) {}

  /// Draws for an image of width x height pixels with these boxes.
  void draw(const DrawKey& key, std::uint32_t width, std::uint32_t height, std::span<const Box> boxes = {});
  /// The pixels of the image that make() uses.
  const Region& needed() const { return start_.needed; }
  /// Bytes of the view of the image that was drawn for.
  std::uint64_t bytes() const;
  /// Writes the view to `out`, which has at least bytes() bytes. `decoded` has the pixels of needed() only.
  void make(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const;

  /// The resize that makes the view of the pixels of needed(), if nothing else does.
  const ResizeSpec* only_resize() const {
    return rest().empty() && start_.resize && !transform_.pads ? &*start_.resize : nullptr;
  }

  const Transform& transform() const { return transform_; }
  const Steps& steps() const { return steps_; }

 private:
  void make_start(const PixelView& decoded, Resizer& resizer, std::uint8_t* out) const;
  PixelView start_alone(const PixelView& decoded, ViewScratch& scratch) const;
  void make_rgba(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const;
  void make_gray_16(const PixelView& decoded, ViewScratch& scratch, MutableBytes out) const;
  void finish(const PixelView& pixels, std::span<const Step> after, MutableBytes out) const;
  /// The steps without those of boxes and without the one of PadTo, which finish() does.
  std::span<const Step> pixel_steps() const {
    const std::span<const Step> steps = has_box_steps_ ? pixel_steps_ : steps_;
    return transform_.pads ? steps.first(steps.size() - 1) : steps;
  }
  std::span<const Step> rest() const { return pixel_steps().subspan(start_.num_steps); }

  Transform transform_;
  PixelConverter converter_;
  Steps steps_{};
  Steps pixel_steps_{};  // if there are others
  bool has_box_steps_ = false;
  FusedStart start_{};
};

}  // namespace bale::transform_detail
