#include "bale/loader/batch.hpp"

#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/batch/batch_copy.hpp"
#include "bale/loader/fields/field_named.hpp"
#include "bale/loader/session/session.hpp"
#include "bale/loader/transform/draw/list_drawer.hpp"

namespace bale {

Batch::Batch(std::shared_ptr<loader_detail::Session> session, std::uint32_t slot)
    : session_(std::move(session)), slot_(slot) {}
Batch::Batch(std::unique_ptr<const loader_detail::BatchCopy> copy) : owned_(std::move(copy)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&& other) noexcept {
  release();
  session_ = std::move(other.session_);
  slot_ = other.slot_;
  owned_ = std::move(other.owned_);
  return *this;
}
Batch::~Batch() { release(); }

void Batch::release() noexcept {
  if (session_) std::exchange(session_, nullptr)->release(slot_);
}

const Transform& Batch::transform(std::size_t view) const {
  if (view == 0) return owned_ ? owned_->transform : session_->options().transform;
  return (owned_ ? owned_->further_views : session_->options().further_views)[view - 1];
}

std::size_t Batch::num_views() const {
  return 1 + (owned_ ? owned_->further_views : session_->options().further_views).size();
}

std::uint64_t Batch::index() const { return owned_ ? owned_->index : session_->ring().slot(slot_).index; }
std::uint64_t Batch::epoch() const { return owned_ ? owned_->epoch : session_->ring().slot(slot_).epoch; }
std::size_t Batch::size() const { return owned_ ? owned_->rows.size() : session_->ring().slot(slot_).num_rows.load(); }

Bytes Batch::pixels(std::size_t view) const {
  if (!transform().has_fixed_shape()) {
    throw Error(ErrorCode::invalid_argument, "images of this transform differ in size", {.hint = "use Batch::image()"});
  }
  const Bytes slot = owned_ ? owned_->pixels() : session_->ring().pixels(slot_);
  if (view == 0) return slot.first(size() * transform().image_bytes());
  return (owned_ ? owned_->places : session_->view_places()).rows(slot, view - 1, size());
}

Bytes Batch::image(std::size_t i) const {
  if (owned_) return owned_->pixels().subspan(owned_->rows[i].offset, owned_->rows[i].bytes);
  const loader_detail::Row& row = session_->ring().row(slot_, static_cast<std::uint32_t>(i));
  return session_->ring().pixels(slot_).subspan(row.offset, row.bytes);
}

std::uint32_t Batch::width(std::size_t i) const {
  if (image(i).empty() || transform().shape == Transform::Shape::raw) return 0;
  return transform().has_fixed_shape() ? transform().width : source_width(i);
}

std::uint32_t Batch::height(std::size_t i) const {
  if (image(i).empty() || transform().shape == Transform::Shape::raw) return 0;
  return transform().has_fixed_shape() ? transform().height : source_height(i);
}

std::span<const std::int64_t> Batch::labels() const {
  if (owned_) return owned_->labels;
  return session_->ring().labels(slot_).first(size());
}
std::span<const std::int64_t> Batch::partner_labels() const {
  return owned_ ? owned_->partner_labels : session_->mixer().partner_labels(slot_, size());
}
std::span<const float> Batch::shares() const {
  return owned_ ? owned_->shares : session_->mixer().shares(slot_, size());
}
std::span<const std::uint32_t> Batch::partners() const {
  return owned_ ? owned_->partners : session_->mixer().partners(slot_, size());
}
std::size_t Batch::num_fields() const {
  return owned_ ? owned_->fields.size() : session_->fields().places().num_fields();
}

BatchField Batch::field(std::size_t field) const {
  if (owned_) return owned_->fields.column(field);
  return session_->fields().column(session_->ring(), slot_, static_cast<std::uint32_t>(size()), field);
}

BatchField Batch::field(std::string_view name) const { return loader_detail::field_named(*this, name); }

std::span<const std::uint64_t> Batch::samples() const {
  if (owned_) return owned_->samples;
  return session_->ring().samples(slot_).first(size());
}
std::span<const std::uint8_t> Batch::mask() const {
  if (owned_) return owned_->mask;
  return session_->ring().mask(slot_).first(size());
}

std::uint64_t Batch::copy(std::size_t i) const {
  return owned_ ? owned_->rows[i].copy : session_->ring().row(slot_, static_cast<std::uint32_t>(i)).copy;
}

Steps Batch::steps(std::size_t i, std::size_t view) const {
  if (image(i).empty()) return {};
  const DrawKey key{.seed = owned_ ? owned_->augment_seed : *session_->options().augment_seed,
                    .epoch = epoch(),
                    .sample = samples()[i],
                    .copy = copy(i),
                    .view = view};
  const Region& iou_crop =
      owned_ ? owned_->rows[i].iou_crop : session_->ring().row(slot_, static_cast<std::uint32_t>(i)).iou_crop;
  return transform_detail::draw_again(transform(view), key, source_width(i), source_height(i), iou_crop);
}
std::uint32_t Batch::source_width(std::size_t i) const {
  return owned_ ? owned_->rows[i].source_width
                : session_->ring().row(slot_, static_cast<std::uint32_t>(i)).source_width;
}
std::uint32_t Batch::source_height(std::size_t i) const {
  return owned_ ? owned_->rows[i].source_height
                : session_->ring().row(slot_, static_cast<std::uint32_t>(i)).source_height;
}

}  // namespace bale
