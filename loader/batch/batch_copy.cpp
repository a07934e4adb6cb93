#include "bale/loader/batch/batch_copy.hpp"

#include <algorithm>
#include <cstring>

namespace bale::loader_detail {
namespace {

template <typename Value>
std::vector<Value> values_of(std::span<const Value> values) {
  return {values.begin(), values.end()};
}

}  // namespace

BatchCopy::BatchCopy(const Batch& leased, const Ring& ring, std::uint32_t slot, const LoaderOptions& options,
                     const ViewPlaces& view_places)
    : transform(options.transform),
      further_views(options.further_views),
      places(view_places),
      augment_seed(*options.augment_seed),
      index(ring.slot(slot).index),
      epoch(ring.slot(slot).epoch),
      rows(ring.slot(slot).num_rows),
      labels(values_of(leased.labels())),
      partner_labels(values_of(leased.partner_labels())),
      shares(values_of(leased.shares())),
      partners(values_of(leased.partners())),
      samples(values_of(leased.samples())),
      mask(values_of(leased.mask())),
      fields(leased) {
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const Row& row = ring.row(slot, i);
    rows[i] = {.offset = row.offset,
               .bytes = row.bytes,
               .copy = row.copy,
               .source_width = row.source_width,
               .source_height = row.source_height,
               .iou_crop = row.iou_crop};
    pixel_bytes = std::max<std::size_t>(pixel_bytes, row.offset + row.bytes);
  }
  if (transform.has_fixed_shape()) pixel_bytes = rows.size() * transform.image_bytes();  // with zeros of empty rows
  if (places.num_further() > 0) pixel_bytes = places.total_bytes();
  pixel_memory = std::make_unique_for_overwrite<std::byte[]>(pixel_bytes);
  std::memcpy(pixel_memory.get(), ring.pixels(slot).data(), pixel_bytes);
}

}  // namespace bale::loader_detail
