#include "bale/loader/batch.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/batch/batch_view.hpp"
#include "bale/loader/fields/field_copies.hpp"
#include "bale/loader/transform/draw/default_floating_point.hpp"
#include "bale/loader/transform/draw/list_drawer.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"

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

const loader_detail::RowResult& Batch::row(std::size_t i) const {
  if (i >= size()) throw Error(ErrorCode::invalid_argument, fmt::format("row {} of a batch of {}", i, size()));
  return view_->row(i);
}

const Transform& Batch::transform(std::size_t view) const {
  if (view >= num_views()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("view {} of a batch with {}", view, num_views()));
  }
  return view == 0 ? *view_->transform : view_->further_views[view - 1];
}

Bytes Batch::pixels(std::size_t view) const {
  if (!transform(view).has_fixed_shape()) {
    throw Error(ErrorCode::invalid_argument, "images of this transform differ in size", {.hint = "use Batch::image()"});
  }
  if (view == 0) return view_->pixels.first(size() * view_->transform->image_bytes());
  return view_->places->rows(view_->pixels, view - 1, size());
}

Bytes Batch::pixels_of(std::size_t view, std::size_t value_bytes, bool is_float) const {
  const DType dtype = transform(view).dtype;
  if (value_bytes != dtype_bytes(dtype) || is_float != (dtype == DType::float32)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the pixels are {}", dtype_name(dtype)),
                {.hint = "take them as values of that type, or set Transform::dtype"});
  }
  return pixels(view);
}

Bytes Batch::image(std::size_t i) const {
  const loader_detail::RowResult& shown = row(i);
  return view_->pixels.subspan(shown.offset, shown.bytes);
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
BatchField Batch::field(std::size_t field) const { return view_->fields[loader_detail::checked_field(*this, field)]; }
BatchField Batch::field(std::string_view name) const { return loader_detail::field_named(*this, name); }
std::span<const std::uint64_t> Batch::samples() const { return view_->samples; }
std::span<const std::uint8_t> Batch::mask() const { return view_->mask; }
DrawKey Batch::draw_key(std::size_t i) const { return row(i).key; }
std::size_t Batch::source(std::size_t i) const { return row(i).source; }

Steps Batch::steps(std::size_t i, std::size_t view) const {
  const bool is_of_source = !view_->source_transforms.empty();
  const Transform& of_view = is_of_source ? view_->source_transforms[source(i) * num_views() + view] : transform(view);
  if (image(i).empty()) return {};
  DrawKey key = draw_key(i);
  key.view = view;
  const DefaultFloatingPoint floating_point;
  return transform_detail::draw_again(of_view, key, source_width(i), source_height(i), row(i).iou_crop);
}

std::uint32_t Batch::source_width(std::size_t i) const { return row(i).source_width; }
std::uint32_t Batch::source_height(std::size_t i) const { return row(i).source_height; }

}  // namespace bale
