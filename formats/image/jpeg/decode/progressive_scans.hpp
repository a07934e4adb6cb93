// The scans of a progressive JPEG, one after the other (T.81, annexes B and G); internal.
//
// libjpeg has read all that is before the data of the first scan. What is between scans is read here, and accepted only
// if no decoder could take it differently: all else is left to libjpeg.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"

namespace bale::image_detail {

struct ScanHeader {
  std::uint32_t num_components = 0;
  std::array<std::uint32_t, 3> components{};  // which ones of the frame
  std::array<std::uint32_t, 3> dc_tables{};
  std::array<std::uint32_t, 3> ac_tables{};
  // The coefficients, by zigzag index, first and last one; and their bits: from bit `high` - 1 down to `low`. `high` is
  // 0 in their first scan.
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t high = 0;
  std::uint32_t low = 0;

  bool is_dc() const { return first == 0; }
  bool refines() const { return high != 0; }
};

class ProgressiveScans {
 public:
  /// Takes over the first scan. False if it is left to libjpeg, and so in the functions below.
  bool open(const jpeg_decompress_struct& info);

  const ScanHeader& scan() const { return scan_; }
  /// In MCUs of the scan; 0 if there are no restarts.
  std::uint32_t restart_interval() const { return restart_interval_; }
  /// nullptr if it was not defined.
  const JHUFF_TBL* dc_table(std::uint32_t i) const { return dc_[scan_.dc_tables[i]].use(); }
  const JHUFF_TBL* ac_table(std::uint32_t i) const { return ac_[scan_.ac_tables[i]].use(); }

  enum class Next { scan, end, refused };
  /// Goes to what follows: `marker` ended the scan's data, and `rest` is after it. If it is a scan, `data()` is its
  /// data and all that follows; after the end, it is what follows the end.
  Next go_on(std::uint32_t marker, Bytes rest);
  Bytes data() const { return data_; }

  /// After the end: whether the scans gave all bits of those coefficients that libjpeg would estimate otherwise.
  bool is_complete() const { return is_complete_to(k_estimated); }
  /// Goes through the scans of a file that has all but their data, and calls `use` at each. False if that does, or if
  /// the scans do not give all bits of all coefficients.
  template <typename Use>
  bool open_without_data(const jpeg_decompress_struct& info, const Use& use) {
    Next next = open(info) ? Next::scan : Next::refused;
    for (; next == Next::scan; next = go_on_without_data()) {
      if (!use()) return false;
    }
    return next == Next::end && is_complete_to(64);
  }
  /// Whether comments or application data came after the first scan.
  bool has_late_metadata() const { return has_late_metadata_; }

 private:
  // libjpeg-turbo estimates these first coefficients from neighboring blocks if some of their bits are unknown.
  static constexpr std::size_t k_estimated = 10;

  struct Table {
    const JHUFF_TBL* use() const { return defined ? &table : nullptr; }
    bool defined = false;
    JHUFF_TBL table{};
  };

  Next go_on_without_data();
  bool is_complete_to(std::size_t end) const;
  bool take_scan();
  bool read_tables(Bytes segment);
  bool read_scan(Bytes segment);
  std::uint32_t component_with(std::uint32_t id) const;

  std::array<Table, 4> dc_;
  std::array<Table, 4> ac_;
  ScanHeader scan_;
  std::uint32_t restart_interval_ = 0;
  std::uint32_t num_scans_ = 0;
  std::uint32_t num_components_ = 0;
  std::array<std::uint32_t, 3> ids_{};
  // By component and zigzag index: the lowest bit that is known, or that none is.
  std::array<std::array<std::int8_t, 64>, 3> known_{};
  Bytes data_{};
  bool has_late_metadata_ = false;
};

}  // namespace bale::image_detail
