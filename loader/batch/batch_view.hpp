// BatchView: what a Batch shows, wherever it lies: in a slot of the ring, or in memory of its own (batch_copy.hpp).
//
// Threads: those of the Batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/transform/field.hpp"

namespace bale::loader_detail {

/// Ends when the Batch does; a derived class then gives up the memory.
struct BatchView {
  BatchView() = default;
  BatchView(const BatchView&) = delete;
  BatchView& operator=(const BatchView&) = delete;
  virtual ~BatchView() = default;

  const RowResult& row(std::size_t i) const {
    return *reinterpret_cast<const RowResult*>(reinterpret_cast<const std::byte*>(rows) + i * row_bytes);
  }

  bool is_copy = false;
  std::uint64_t index = 0;
  std::uint64_t epoch = 0;
  std::uint64_t augment_seed = 0;
  std::size_t size = 0;  // number of rows
  const Transform* transform = nullptr;
  std::span<const Transform> further_views{};
  const ViewLayout* places = nullptr;
  Bytes pixels{};  // of all views
  const RowResult* rows = nullptr;
  std::size_t row_bytes = sizeof(RowResult);  // from one row to the next
  std::span<const std::int64_t> labels{};
  std::span<const std::int64_t> partner_labels{};  // this and the next two: empty without mixing
  std::span<const float> shares{};
  std::span<const std::uint32_t> partners{};
  std::span<const std::uint64_t> samples{};
  std::span<const std::uint8_t> mask{};
  std::vector<BatchField> fields{};
};

}  // namespace bale::loader_detail
