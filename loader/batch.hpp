// Batch: a lease on one slot of the loader's ring, or a copy of one.
//
// What it hands out lives until the Batch is destroyed. It lies in the ring (zero copies), and the slot goes back to
// the workers then. A caller that keeps so many batches that the workers would run out of slots gets copies in memory
// of their own (is_copy(), LoaderOptions::copy_when_held), so any number of batches may be kept. A Batch may outlive
// its Loader; the ring's memory stays until the last lease is gone.
//
// Threads: any one thread at a time may use a Batch; it may be destroyed in another thread than next() was called in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "bale/formats/core/bytes.hpp"
#include "bale/loader/transform/augment_draw.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale {

namespace loader_detail {
class Session;
struct BatchCopy;
}  // namespace loader_detail

class Batch {
 public:
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  /// Number in its epoch, from 0 (a resumed epoch goes on counting from 0), and the epoch.
  std::uint64_t index() const;
  std::uint64_t epoch() const;
  /// Rows, masked ones included.
  std::size_t size() const;

  /// All rows one after another, size() x H x W x C or size() x C x H x W of the transform's dtype. Transforms of fixed
  /// shape only; throws `invalid_argument` for ragged and raw ones.
  Bytes pixels() const;
  template <typename Value>
  std::span<const Value> pixels_as() const {
    return {reinterpret_cast<const Value*>(pixels().data()), pixels().size() / sizeof(Value)};
  }
  /// Row `i` alone, of any transform: H x W x C; empty where masked out.
  Bytes image(std::size_t i) const;
  /// Size in pixels of row `i` as it lies in the batch (ragged: its own); 0 x 0 for raw and for masked rows.
  std::uint32_t width(std::size_t i) const;
  std::uint32_t height(std::size_t i) const;

  /// Class numbers; k_no_label where the sample has none or the row is empty.
  std::span<const std::int64_t> labels() const;
  /// Positions in the Dataset; of the substitute where there is one, 0 where the row is empty. Dataset::key() gives the
  /// key.
  std::span<const std::uint64_t> samples() const;
  /// Which of the deliveries of its sample in this epoch row `i` is: Pick::copy. A substitute has a number of its own.
  std::uint64_t copy(std::size_t i) const;
  /// 1: a delivery that counts once in this epoch; 0: padding (pixels are there), an empty row or a skipped sample
  /// (zeros).
  std::span<const std::uint8_t> mask() const;
  /// The drawn parameters of row `i`, and the size of its stored image.
  const AugmentDraw& draw(std::size_t i) const;
  std::uint32_t source_width(std::size_t i) const;
  std::uint32_t source_height(std::size_t i) const;

  /// Whether this is a copy rather than a slot of the ring.
  bool is_copy() const { return owned_ != nullptr; }

 private:
  friend class loader_detail::Session;
  Batch(std::shared_ptr<loader_detail::Session> session, std::uint32_t slot);
  explicit Batch(std::unique_ptr<const loader_detail::BatchCopy> copy);
  const Transform& transform() const;
  void release() noexcept;
  std::shared_ptr<loader_detail::Session> session_;  // null for a copy
  std::uint32_t slot_ = 0;
  std::unique_ptr<const loader_detail::BatchCopy> owned_;
};

}  // namespace bale
