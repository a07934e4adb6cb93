// BatchCopy: a batch in its own memory, for callers that keep more batches than the ring has slots. It does not refer
// to the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bale/loader/batch/batch_view.hpp"
#include "bale/loader/fields/field_copies.hpp"

namespace bale::loader_detail {

class BatchCopy final : public BatchView {
 public:
  explicit BatchCopy(const BatchView& from);

 private:
  Transform transform_;
  std::vector<Transform> further_views_;
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
