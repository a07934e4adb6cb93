// BatchView: what a Batch shows, wherever it lies: in a slot of the ring, or in memory of its own (BatchCopy).
//
// Threads: those of the Batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/fields/field_copies.hpp"
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
  std::size_t size = 0;  // number of rows
  const Transform* transform = nullptr;
  std::span<const Transform> further_views{};
  std::span<const Transform> source_transforms{};  // LoaderOptions::source_transforms
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

// BatchCopy: a batch in its own memory, for callers that keep more batches than the ring has slots. It does not refer
// to the ring.
class BatchCopy final : public BatchView {
 public:
  explicit BatchCopy(const BatchView& from);

 private:
  Transform transform_;
  std::vector<Transform> further_views_;
  std::vector<Transform> source_transforms_;
  ViewLayout places_;
  std::vector<RowResult> rows_{};
  std::vector<std::int64_t> labels_;
  std::vector<std::int64_t> partner_labels_;
  std::vector<float> shares_;
  std::vector<std::uint32_t> partners_;
  std::vector<std::uint64_t> samples_;
  std::vector<std::uint8_t> mask_;
  FieldCopies fields_;
  std::unique_ptr<std::byte[]> pixels_{};
};

}  // namespace bale::loader_detail
