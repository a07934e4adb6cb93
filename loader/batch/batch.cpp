#include "bale/loader/batch.hpp"

#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/batch/batch_view.hpp"
#include "bale/loader/fields/field_named.hpp"
#include "bale/loader/transform/draw/list_drawer.hpp"

namespace bale {

Batch::Batch(std::unique_ptr<const loader_detail::BatchView> view) : view_(std::move(view)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

bool Batch::is_copy() const { return view_->is_copy; }
std::uint64_t Batch::index() const { return view_->index; }
std::uint64_t Batch::epoch() const { return view_->epoch; }
std::size_t Batch::size() const { return view_->size; }
std::size_t Batch::num_views() const { return 1 + view_->further_views.size(); }

const Transform& Batch::transform(std::size_t view) const {
  return view == 0 ? *view_->transform : view_->further_views[view - 1];
}

Bytes Batch::pixels(std::size_t view) const {
  if (!view_->transform->has_fixed_shape()) {
    throw Error(ErrorCode::invalid_argument, "images of this transform differ in size", {.hint = "use Batch::image()"});
  }
  if (view == 0) return view_->pixels.first(size() * view_->transform->image_bytes());
  return view_->places->rows(view_->pixels, view - 1, size());
}

Bytes Batch::image(std::size_t i) const {
  const loader_detail::RowResult& row = view_->row(i);
  return view_->pixels.subspan(row.offset, row.bytes);
}

std::uint32_t Batch::width(std::size_t i) const {
  const Transform& transform = *view_->transform;
  if (image(i).empty() || transform.shape == Transform::Shape::raw) return 0;
  return transform.has_fixed_shape() ? transform.width : source_width(i);
}

std::uint32_t Batch::height(std::size_t i) const {
  const Transform& transform = *view_->transform;
  if (image(i).empty() || transform.shape == Transform::Shape::raw) return 0;
  return transform.has_fixed_shape() ? transform.height : source_height(i);
}

std::span<const std::int64_t> Batch::labels() const { return view_->labels; }
std::span<const std::int64_t> Batch::partner_labels() const { return view_->partner_labels; }
std::span<const float> Batch::shares() const { return view_->shares; }
std::span<const std::uint32_t> Batch::partners() const { return view_->partners; }
std::size_t Batch::num_fields() const { return view_->fields.size(); }
BatchField Batch::field(std::size_t field) const { return view_->fields[field]; }
BatchField Batch::field(std::string_view name) const { return loader_detail::field_named(*this, name); }
std::span<const std::uint64_t> Batch::samples() const { return view_->samples; }
std::span<const std::uint8_t> Batch::mask() const { return view_->mask; }
std::uint64_t Batch::copy(std::size_t i) const { return view_->row(i).copy; }

Steps Batch::steps(std::size_t i, std::size_t view) const {
  if (image(i).empty()) return {};
  const DrawKey key{
      .seed = view_->augment_seed, .epoch = epoch(), .sample = samples()[i], .copy = copy(i), .view = view};
  return transform_detail::draw_again(transform(view), key, source_width(i), source_height(i), view_->row(i).iou_crop);
}

std::uint32_t Batch::source_width(std::size_t i) const { return view_->row(i).source_width; }
std::uint32_t Batch::source_height(std::size_t i) const { return view_->row(i).source_height; }

}  // namespace bale
