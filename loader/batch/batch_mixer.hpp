// BatchMixer: mixes the images of a finished batch in its slot of the ring.
//
// Values are share * a + rest * b in float32, each step rounded by itself, as by the kernels of a device
// (loader/cuda/kernels/convert_kernel.hpp). Values of 16 bits are mixed as the float32 values that they were rounded
// from, so that a batch has the same bits as on a device. (If two pixel values become the same 16 bits, the rounded
// value is mixed.)
//
// Threads: used by one thread at a time. A large batch is mixed by several threads, which end before mix() returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/batch.hpp"
#include "bale/loader/loader_options.hpp"
#include "bale/loader/transform/mix_draw.hpp"

namespace bale::loader_detail {

// How rows are mixed: the same in ordinary memory and on a device.

/// How one row is mixed.
struct RowMix {
  std::uint32_t partner = 0;  // the row that is mixed in or pasted; the row itself if it has no partner
  bool mixes = false;         // false: its pixels stay as they are
};

MixDraw draw_mix_of(const MixOptions& options, const Batch& batch, std::uint64_t seed, const Transform& transform);

/// The partner is the nearest row before `row` that has an image; the last row comes before the first one. A row
/// without an image has no partner.
RowMix mix_of_row(const Batch& batch, const MixDraw& draw, std::uint32_t row);

class BatchMixer {
 public:
  /// Does nothing unless `options.mix` is active. All memory that mix() needs is allocated here.
  BatchMixer(const LoaderOptions& options, std::uint32_t num_slots);

  bool active() const { return mix_.active(); }
  /// Mixes `batch`, whose `pixels` are those of slot number `slot`. It never throws, so that a batch is mixed once and
  /// as a whole. Precondition: the batch was not mixed before.
  void mix(const Batch& batch, std::uint32_t slot, MutableBytes pixels) noexcept;

  // Of the batch that was mixed last in a slot. Empty unless active().
  std::span<const std::int64_t> partner_labels(std::uint32_t slot, std::size_t num_rows) const;
  std::span<const float> shares(std::uint32_t slot, std::size_t num_rows) const;
  std::span<const std::uint32_t> partners(std::uint32_t slot, std::size_t num_rows) const;

 private:
  /// Lines first .. end - 1 of every image: rows of pixels, per channel if the layout is nchw.
  struct Lines {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  std::uint32_t plan_rows(const Batch& batch, std::uint32_t slot, const MixDraw& draw) noexcept;
  void mix_lines(MutableBytes pixels, const MixDraw& draw, Lines lines, std::byte* kept) const noexcept;
  void mix_stripe(std::byte* own, const std::byte* other, const MixDraw& draw, Lines stripe) const noexcept;
  void paste(std::byte* own, const std::byte* other, const MixDraw& draw, Lines stripe) const noexcept;
  void fill_sixteen_bits();

  MixOptions mix_;
  Transform transform_;
  std::uint64_t seed_ = 0;
  std::uint32_t batch_size_ = 0;
  bool is_planar_ = false;
  std::uint32_t num_lines_ = 0;
  std::uint32_t values_per_line_ = 0;
  std::size_t bytes_per_line_ = 0;
  std::uint32_t lines_per_stripe_ = 0;
  std::vector<std::int64_t> partner_labels_;          // num_slots x batch_size
  std::vector<float> shares_;                         // num_slots x batch_size
  std::vector<std::uint32_t> partners_;               // num_slots x batch_size
  std::vector<RowMix> rows_;                          // of the batch that is being mixed
  std::vector<std::byte> kept_;                       // one stripe per thread
  std::array<std::vector<float>, 4> sixteen_bits_{};  // per channel, the float32 value of every 16 bits
};

}  // namespace bale::loader_detail
