// BaselineDecoder: decodes a rectangle of a baseline Huffman JPEG to libjpeg-turbo's pixels, but faster; internal.
//
// It reads sequential 8-bit JPEGs in one scan, gray or YCbCr at 4:4:4, 4:2:2, 4:2:0 or 4:4:0. It leaves all others to
// libjpeg, and images that look damaged up to the last row that is needed: the caller then gets libjpeg's pixels,
// warnings and errors. Blocks outside the rectangle are only entropy-decoded. For one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bale/formats/image/codec/reused_memory.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_entropy.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_frame.hpp"
#include "bale/formats/image/jpeg/entropy/baseline_seek_points.hpp"
#include "bale/formats/image/jpeg/pixels/baseline_kernels.hpp"
#include "bale/formats/image/jpeg/pixels/region_pixels.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/image/region.hpp"

namespace bale::image_detail {

/// For tests: whether our own decoders are used next to libjpeg. `automatic`: if possible. `plain`: without
/// instructions that only some CPUs have.
enum class BaselineUse { automatic, never, plain };

inline std::atomic<BaselineUse>& baseline_use_of_process() {
  static std::atomic<BaselineUse> use{BaselineUse::automatic};
  return use;
}
inline BaselineUse baseline_use() { return baseline_use_of_process(); }
inline void set_baseline_use(BaselineUse use) { baseline_use_of_process() = use; }

/// For tests: the number of images that it decoded in this process, and how many of them it decoded from seek points.
std::uint64_t baseline_count();
std::uint64_t seek_count();

/// Seek points, and the length of the image that they are for.
struct SeekPointsUse {
  KeptSeekPoints kept{};
  std::size_t image_bytes = 0;
};

class BaselineDecoder {
 public:
  /// Fills the region's rows, `region.width` * 3 bytes each. False if libjpeg must decode it; `rgb` then has no
  /// meaning. The header of `info` must have been read; it is not changed. The region must be inside the image. Seek
  /// points of another image, or that lead to data that looks damaged, do not change the result.
  bool decode(const jpeg_decompress_struct& info, const Region& region, const SeekPointsUse& entry, std::uint8_t* rgb);

  /// decode() in parts. begin() mostly leaves an image under way; with good seek points, it does all of it.
  enum class State { refused, done, under_way };
  State begin(const jpeg_decompress_struct& info, const Region& region, const SeekPointsUse& entry, std::uint8_t* rgb);
  /// For a decoder that is under way. Returns what decode() returns.
  bool finish();
  /// Decodes two images that are under way, interleaved, until one of them is not any more: much faster than one after
  /// the other. The other one can go on next to a third.
  static std::array<State, 2> go_on_beside(BaselineDecoder& a, BaselineDecoder& b);

 private:
  bool prepare(const BaselineFrame& frame, const Region& region, const BaselineKernels& kernels);
  bool begin_at_top(std::uint8_t* rgb);
  bool begin_row() { return entropy_.begin_row(mcu_row_ >= pixels_.first_mcu_row()); }
  bool end_row();
  bool is_at_end() const { return mcu_row_ == end_read_row_; }
  bool decode_from_points(std::uint8_t* rgb);
  void allocate(std::size_t rows_at_once);

  BaselineFrame frame_;
  Region region_;
  RegionPixels pixels_;
  // When decoding from the top: the current row of MCUs, and the row at which reading ends.
  std::uint32_t mcu_row_ = 0;
  std::uint32_t end_read_row_ = 0;
  EntropyDecoder entropy_;
  SeekPoints points_;
  std::array<CoefficientRows, EntropyDecoder::k_max_rows> coefficients_;
  AlignedMemory memory_;
};

}  // namespace bale::image_detail
