// SamplePipeline: the bytes of one stored image into its place in a batch.
//
// Holds decoder, resizer and scratch memory, reused from image to image. For one thread at a time.
#pragma once

#include <memory>

#include "bale/formats/core/bytes.hpp"
#include "bale/formats/image/entry_points.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/loader/transform/augment_draw.hpp"

namespace bale {

/// What was done to an image.
struct AppliedTransform {
  std::uint32_t source_width = 0;  // of the stored image; 0 for raw
  std::uint32_t source_height = 0;
  AugmentDraw draw{};
  std::uint64_t bytes = 0;  // written to `out`
};

class SamplePipeline {
 public:
  /// Throws what check_transform() throws.
  explicit SamplePipeline(const Transform& transform, std::uint64_t max_pixels);
  ~SamplePipeline();
  SamplePipeline(SamplePipeline&&) noexcept;
  SamplePipeline& operator=(SamplePipeline&&) noexcept;

  /// Fixed shapes fill `out` (transform.image_bytes() long) wholly; ragged and raw write what they need at its front.
  /// Throws `damaged` or `unsupported` for a bad image, or one that `out` has no room for; `out` is then in no defined
  /// state. Entry points that are kept of the image make it faster and nothing else.
  AppliedTransform run(Bytes image, const DrawKey& key, MutableBytes out, const KeptEntryPoints& kept = {});

  /// run() in two parts: reads the image's header, checks as `check` says that the image is whole, and draws; then
  /// makes the pixels. `image` and what is kept of it must stay until the second is over.
  void begin(Bytes image, const DrawKey& key, const KeptEntryPoints& kept = {}, WholeCheck check = WholeCheck::end);
  AppliedTransform finish(MutableBytes out);
  /// Between the two, of two pipelines that have begun: decodes both images side by side, which takes less time than
  /// one after the other. Results and errors of finish() are the same.
  static void decode_ahead(SamplePipeline& first, SamplePipeline& second);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
