// Inflation: how much a few compressed bytes may become, so that what is there bounds the memory and the disk space
// that reading it takes.
//
// Data that is worth compressing becomes 2 to 100 times as large. zstd can make 32,768 bytes of one, bzip2 and xz can
// make thousands: only files that were made to exhaust a reader, or that hold next to nothing, come near that.
#pragma once

#include <cstdint>

namespace bale {

/// Per compressed byte; deflate's own limit, which no zlib stream exceeds.
inline constexpr std::uint64_t k_max_inflation = 1032;
/// What may become more than that: of the fields of one sample in memory, all together; of an archive on disk.
inline constexpr std::uint64_t k_inflation_allowance = std::uint64_t{256} << 20;

/// Of one sample or one archive. Packing asks it too, so that nothing is packed that reading refuses.
class InflationBudget {
 public:
  explicit InflationBudget(std::uint64_t allowance = k_inflation_allowance) : left_(allowance) {}

  /// Whether `stored_bytes` may become `plain_bytes`. In whatever order the parts are asked for, the sum decides.
  bool take(std::uint64_t stored_bytes, std::uint64_t plain_bytes) {
    if (plain_bytes / k_max_inflation <= stored_bytes) return true;
    if (plain_bytes > left_) return false;
    left_ -= plain_bytes;
    return true;
  }

 private:
  std::uint64_t left_;
};

}  // namespace bale
