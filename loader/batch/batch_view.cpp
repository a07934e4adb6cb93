#include "bale/loader/batch/batch_view.hpp"

#include <algorithm>
#include <cstring>

namespace bale::loader_detail {
namespace {

template <typename Value>
std::vector<Value> values_of(std::span<const Value> values) {
  return {values.begin(), values.end()};
}

/// Of the pixels that a batch uses.
std::size_t used_bytes(const BatchView& batch) {
  if (batch.places->num_further() > 0) return batch.places->total_bytes();
  if (batch.transform->has_fixed_shape()) return batch.size * batch.transform->image_bytes();  // with empty rows
  std::size_t used = 0;
  for (std::size_t i = 0; i < batch.size; ++i) {
    used = std::max<std::size_t>(used, batch.row(i).offset + batch.row(i).bytes);
  }
  return used;
}

}  // namespace

BatchCopy::BatchCopy(const BatchView& from)
    : transform_(*from.transform),
      further_views_(values_of(from.further_views)),
      source_transforms_(values_of(from.source_transforms)),
      places_(*from.places),
      labels_(values_of(from.labels)),
      partner_labels_(values_of(from.partner_labels)),
      shares_(values_of(from.shares)),
      partners_(values_of(from.partners)),
      samples_(values_of(from.samples)),
      mask_(values_of(from.mask)),
      fields_(from.fields) {
  for (std::size_t i = 0; i < from.size; ++i) rows_.push_back(from.row(i));
  const std::size_t num_bytes = used_bytes(from);
  pixels_ = std::make_unique_for_overwrite<std::byte[]>(num_bytes);
  std::memcpy(pixels_.get(), from.pixels.data(), num_bytes);

  is_copy = true;
  index = from.index;
  epoch = from.epoch;
  size = from.size;
  transform = &transform_;
  further_views = further_views_;
  source_transforms = source_transforms_;
  places = &places_;
  pixels = {pixels_.get(), num_bytes};
  rows = rows_.data();
  labels = labels_;
  partner_labels = partner_labels_;
  shares = shares_;
  partners = partners_;
  samples = samples_;
  mask = mask_;
  for (std::size_t field = 0; field < fields_.size(); ++field) fields.push_back(fields_.column(field));
}

}  // namespace bale::loader_detail
