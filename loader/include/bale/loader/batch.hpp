// Batch: a batch of images and labels in ordinary memory.
//
// Ownership: a Batch is a lease on one slot of the loader's ring, without a copy. Everything that it returns lives
// until it is destroyed; then the workers reuse the slot. If the caller keeps so many batches that the workers would
// run out of slots, next() returns copies instead (is_copy(), LoaderOptions::copy_when_held). A Batch may outlive its
// Loader.
// Threads: a Batch is used by one thread at a time. It may be destroyed in another thread than the one that called
// next(), also while that thread uses the Loader.
// Errors: `invalid_argument` for rows that are not below size(), views not below num_views(), fields not below
// num_fields(), and for every method of a Batch that was moved from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/held.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/step.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale {

namespace loader_detail {
class Session;
struct BatchView;
struct RowResult;
}  // namespace loader_detail

class Batch {
 public:
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  /// Number in its epoch, from 0. After a resume it counts from 0 again.
  std::uint64_t index() const;
  std::uint64_t epoch() const;
  /// Number of rows, including masked ones.
  std::size_t size() const;

  /// Number of views of each image: 1 + LoaderOptions::further_views.
  std::size_t num_views() const;
  /// The transform of a view; of a mixture, that of source 0. Lives as long as this object.
  const Transform& transform(std::size_t view = 0) const BALE_LIFETIMEBOUND;

  /// All rows of a view without gaps: size() x H x W x 3 or size() x 3 x H x W, in the transform's layout and dtype.
  /// Throws `invalid_argument` for ragged and raw transforms.
  Bytes pixels(std::size_t view = 0) const BALE_LIFETIMEBOUND;
  /// The same as values of the view's dtype: uint8_t, float, uint16_t, or any type of two bytes for float16 and
  /// bfloat16. Throws `invalid_argument` if the dtype is another one.
  template <typename Value>
  std::span<const Value> pixels_as(std::size_t view = 0) const BALE_LIFETIMEBOUND {
    const Bytes pixels = pixels_of(view, sizeof(Value), std::is_same_v<Value, float>);
    return {reinterpret_cast<const Value*>(pixels.data()), pixels.size() / sizeof(Value)};
  }
  /// Row `i` of the first view: one image in the transform's layout and dtype; for raw, the stored bytes. Empty if the
  /// row has no image.
  Bytes image(std::size_t i) const BALE_LIFETIMEBOUND;
  /// Size in pixels of row `i` of the first view. 0 for raw transforms and for rows without an image.
  std::uint32_t width(std::size_t i) const;
  std::uint32_t height(std::size_t i) const;

  /// Class numbers, one per row. LoaderOptions::no_label if the sample has no label or the row no sample.
  std::span<const std::int64_t> labels() const BALE_LIFETIMEBOUND;
  /// Labels of the images that each image was mixed with, one per row. Empty unless MixOptions::active().
  std::span<const std::int64_t> partner_labels() const BALE_LIFETIMEBOUND;
  /// Weights of each image's own label in the loss, one per row; 1 if the image was not mixed. The partner's label has
  /// the rest. Empty unless MixOptions::active().
  std::span<const float> shares() const BALE_LIFETIMEBOUND;
  /// Rows of the images that each image was mixed with, one per row: fields of the partner are those of that row. An
  /// image without a partner has its own row. Empty unless MixOptions::active().
  std::span<const std::uint32_t> partners() const BALE_LIFETIMEBOUND;
  /// The fields of LoaderOptions::fields, in their order.
  std::size_t num_fields() const;
  BatchField field(std::size_t field) const BALE_LIFETIMEBOUND;
  /// Throws `invalid_argument` if there is no field of this name.
  BatchField field(std::string_view name) const BALE_LIFETIMEBOUND;
  /// Sample numbers in the Dataset, one per row; of the substitute for a bad sample; 0 for a row without a sample.
  std::span<const std::uint64_t> samples() const BALE_LIFETIMEBOUND;
  /// What the steps of row `i` are drawn by, in the first view. `copy` distinguishes the deliveries of one sample in an
  /// epoch; substitutes have numbers of their own. Of a mixture, `sample` is the number in the source and `epoch` the
  /// pass over it, as if it was read alone.
  DrawKey draw_key(std::size_t i) const;
  /// The source of row `i` of a mixture; 0 without one.
  std::size_t source(std::size_t i) const;
  /// One per row. 1: the delivery counts in this epoch. 0: padding, which has pixels; or a row without a sample or with
  /// a skipped one, which is zero.
  std::span<const std::uint8_t> mask() const BALE_LIFETIMEBOUND;
  /// The steps that made row `i` of a view of its stored image, before it was mixed: drawn again, which gives the same.
  /// Empty if the row has no image, and for ragged and raw transforms.
  Steps steps(std::size_t i, std::size_t view = 0) const;
  /// Size in pixels of the stored image of row `i`.
  std::uint32_t source_width(std::size_t i) const;
  std::uint32_t source_height(std::size_t i) const;

  /// Whether this is a copy instead of a slot of the ring.
  bool is_copy() const;

 private:
  friend class loader_detail::Session;
  explicit Batch(std::unique_ptr<const loader_detail::BatchView> view);
  const loader_detail::RowResult& row(std::size_t i) const;
  Bytes pixels_of(std::size_t view, std::size_t value_bytes, bool is_float) const;
  Held<std::unique_ptr<const loader_detail::BatchView>> view_;
};

}  // namespace bale
