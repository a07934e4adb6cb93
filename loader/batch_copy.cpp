#include "bale/loader/batch_copy.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace bale::loader_detail {
namespace {

template <typename Value>
std::vector<std::remove_const_t<Value>> first_rows(std::span<Value> values, std::size_t num_rows) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(num_rows)};
}

}  // namespace

BatchCopy::BatchCopy(const Ring& ring, std::uint32_t slot, const LoaderOptions& options, const ViewPlaces& view_places,
                     const BatchMixer& mixer, const FieldColumns& columns)
    : transform(options.transform),
      further_views(options.further_views),
      places(view_places),
      augment_seed(*options.augment_seed),
      index(ring.slot(slot).index),
      epoch(ring.slot(slot).epoch),
      rows(ring.slot(slot).num_rows),
      labels(first_rows(ring.labels(slot), rows.size())),
      partner_labels(first_rows(mixer.partner_labels(slot, rows.size()), mixer.active() ? rows.size() : 0)),
      shares(first_rows(mixer.shares(slot, rows.size()), mixer.active() ? rows.size() : 0)),
      samples(first_rows(ring.samples(slot), rows.size())),
      mask(first_rows(ring.mask(slot), rows.size())),
      fields(columns, ring, slot, static_cast<std::uint32_t>(rows.size())) {
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const Row& row = ring.row(slot, i);
    rows[i] = {.offset = row.offset,
               .bytes = row.bytes,
               .copy = row.copy,
               .source_width = row.source_width,
               .source_height = row.source_height,
               .draw = row.draw};
    pixel_bytes = std::max<std::size_t>(pixel_bytes, row.offset + row.bytes);
  }
  if (transform.has_fixed_shape()) pixel_bytes = rows.size() * transform.image_bytes();  // with zeros of empty rows
  if (places.num_further() > 0) pixel_bytes = places.total_bytes();
  pixel_memory = std::make_unique_for_overwrite<std::byte[]>(pixel_bytes);
  std::memcpy(pixel_memory.get(), ring.pixels(slot).data(), pixel_bytes);
}

}  // namespace bale::loader_detail
