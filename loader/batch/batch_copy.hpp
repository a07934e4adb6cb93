// BatchCopy: a copy of a batch in its own memory, for callers that keep more batches than the ring has slots.
// A plain value: it does not refer to the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/batch.hpp"
#include "bale/loader/fields/field_copies.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/ring/view_places.hpp"

namespace bale::loader_detail {

/// The result of a worker for one row.
struct RowResult {
  std::uint64_t offset = 0;  // of the row's image in the batch's pixels
  std::uint64_t bytes = 0;   // 0: the row is empty
  std::uint64_t copy = 0;    // Pick::copy
  std::uint32_t source_width = 0;
  std::uint32_t source_height = 0;
  Region iou_crop{};
};

struct BatchCopy {
  /// Copies a finished slot of `ring`, which is that of `leased`.
  BatchCopy(const Batch& leased, const Ring& ring, std::uint32_t slot, const LoaderOptions& options,
            const ViewPlaces& places);

  Bytes pixels() const { return {pixel_memory.get(), pixel_bytes}; }

  Transform transform;
  std::vector<Transform> further_views;
  ViewPlaces places;
  std::uint64_t augment_seed;
  std::uint64_t index;
  std::uint64_t epoch;
  std::vector<RowResult> rows;
  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> partner_labels;  // empty without mixing
  std::vector<float> shares;                 // empty without mixing
  std::vector<std::uint32_t> partners;       // empty without mixing
  std::vector<std::uint64_t> samples;
  std::vector<std::uint8_t> mask;
  FieldCopies fields;
  std::size_t pixel_bytes = 0;
  std::unique_ptr<std::byte[]> pixel_memory;
};

}  // namespace bale::loader_detail
