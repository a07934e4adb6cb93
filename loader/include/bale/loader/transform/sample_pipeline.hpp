// SamplePipeline: decodes one stored image and transforms it into its row of a batch, once per view.
//
// It owns a decoder, a resizer and scratch memory, which it reuses for the next image.
// Threads: used by one thread at a time.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/loader/transform/box.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/encoded_image.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale {

/// What was done to an image.
struct AppliedTransform {
  std::uint32_t source_width = 0;  // of the stored image in pixels; 0 for raw
  std::uint32_t source_height = 0;
  /// What RandomIoUCrop of the first view takes, in pixels of the image before it; width 0: it takes all. It depends on
  /// boxes, so that it must be known to draw the steps again.
  Region iou_crop{};
  std::uint64_t bytes = 0;  // of the first view, written to `out`
};

class SamplePipeline {
 public:
  /// Images of more than `max_pixels` pixels are refused. `further_views` are made of the same decoded image. Throws
  /// what check_transform() throws.
  SamplePipeline(const Transform& transform, std::uint64_t max_pixels, std::span<const Transform> further_views = {});
  ~SamplePipeline();
  SamplePipeline(SamplePipeline&&) noexcept;
  SamplePipeline& operator=(SamplePipeline&&) noexcept;

  /// Writes the transformed image to `out`. A transform of fixed shape fills transform.image_bytes() bytes; ragged and
  /// raw ones write AppliedTransform::bytes bytes at the front. Seek points of the image (`kept`) only save time.
  /// Throws `damaged` or `unsupported` for a bad image, `unsupported` if a ragged or raw image does not fit,
  /// `invalid_argument` if `out` is too small for a fixed shape. After an error, the content of `out` is undefined.
  AppliedTransform run(Bytes image, const DrawKey& key, MutableBytes out, const KeptSeekPoints& kept = {});

  /// run() in two parts, for all views. begin() reads the image's header, checks as `check` says that the image is
  /// complete, and draws; `boxes` are those of the stored image, by which RandomIoUCrop draws. finish() makes the
  /// pixels. `image` and `kept` must stay valid until finish() returns. Both throw as run() does.
  void begin(Bytes image, const DrawKey& key, const KeptSeekPoints& kept = {}, WholeCheck check = WholeCheck::end,
             std::span<const Box> boxes = {});
  /// After begin(): the size of the stored image in pixels (0 for raw), and the steps that make a view of it; none for
  /// raw. Lifetime: until the next begin(). Precondition: there is such a view.
  AppliedTransform begun() const;
  std::span<const Step> steps(std::size_t view = 0) const;
  /// After begin(): what a device has to do instead of finish(), if the image is a plain JPEG (ImageDecoder), and the
  /// only view is made of it by a resize, in 8 bits. nullopt otherwise.
  std::optional<EncodedImage> left_to_device() const;
  /// `further` has a place of image_bytes() bytes for each further view.
  AppliedTransform finish(MutableBytes out, std::span<const MutableBytes> further = {});
  /// Optional, between begin() and finish() of two different pipelines: decodes both images in one loop, which takes
  /// less time than one after the other, until one of them is decoded. Returns, for each, whether it is ready for
  /// finish(). At least one is; the other one can go on next to a third. Results and errors of finish() are the same.
  static std::array<bool, 2> decode_ahead(SamplePipeline& first, SamplePipeline& second);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
