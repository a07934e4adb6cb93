// UnitMap: which units (4 KiB) of a remote file are in the cache, with the CRC32C of each. A file that all processes of
// the node map.
//
// A unit is absent, present, or claimed by the process that is fetching it. Who finds a unit absent claims it; who
// finds it claimed waits, and takes over if the owner has died. A present unit has the time of its next use, if it is
// known.
//
// Threads and processes: all functions may be called by any number of them at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/entries/order_table.hpp"
#include "bale/formats/storage/cache/shared/process_slots.hpp"

namespace bale {

constexpr std::uint64_t k_unit_bytes = 4096;
/// What has one time of its last use.
constexpr std::uint64_t k_units_per_region = 256;

/// Units first to end - 1.
struct UnitRun {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - first; }
};

/// The units that the bytes from `offset` to `offset + length` touch.
inline UnitRun units_of(std::uint64_t offset, std::uint64_t length) {
  return {offset / k_unit_bytes, (offset + length + k_unit_bytes - 1) / k_unit_bytes};
}

class UnitMap {
 public:
  /// Opens the map of a file of `file_bytes` bytes, or makes one in which all units are absent. Throws `damaged` if
  /// something else has its name, and `io`.
  UnitMap(const std::string& path, std::uint64_t file_bytes);
  /// Opens an existing map. Throws `damaged` if it is none, and `io`.
  explicit UnitMap(const std::string& path);
  UnitMap(const UnitMap&) = delete;
  UnitMap& operator=(const UnitMap&) = delete;

  static std::uint64_t size_of_map(std::uint64_t file_bytes);
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t num_units() const { return units_of(0, file_bytes_).end; }
  std::uint64_t num_regions() const { return (num_units() + k_units_per_region - 1) / k_units_per_region; }

  bool is_present(std::uint64_t unit) const;
  bool all_present(UnitRun units) const;
  std::uint32_t crc_of(std::uint64_t unit) const;

  struct Claims {
    std::vector<UnitRun> runs{};  // that the caller owns now
    bool others = false;          // whether units are claimed by someone else
  };
  /// Claims the absent units of a range, and those whose owner has died. `token` is the caller's own.
  Claims claim(UnitRun units, const ProcessSlots& slots);
  /// Gives a claimed unit its content.
  void set_present(std::uint64_t unit, std::uint32_t crc);
  /// Gives up claims of `token` that have no content yet.
  void release(UnitRun units, std::uint32_t token);
  /// Claims a present unit whose content is not what its checksum says. Returns false if it is no longer present.
  bool claim_wrong(std::uint64_t unit, std::uint32_t crc, std::uint32_t token);
  /// Claims all units whose owner has died.
  std::vector<UnitRun> claim_abandoned(const ProcessSlots& slots);
  /// Claims the units of a range that are present, so that their content can be removed; release() makes them absent.
  std::vector<UnitRun> claim_present(UnitRun units, std::uint32_t token);
  UnitRun units_of_region(std::uint64_t region) const;

  /// The next use of a unit as OrderTable stores it; nullopt if the unit is not present.
  std::optional<std::uint32_t> next_use(std::uint64_t unit) const;
  /// Does nothing if the unit is not present, or is changed at the same moment.
  void set_next_use(std::uint64_t unit, std::uint32_t use);

  /// Notes that a range is used.
  void touch(UnitRun units, Tick now);
  Tick last_use(std::uint64_t region) const;
  std::uint32_t num_present(std::uint64_t region) const;

  /// Changes with every set_present() batch and release(): see wait().
  std::uint32_t progress() const;
  /// Wakes those who wait. Call after changes.
  void announce();
  /// Sleeps until progress() is no longer `seen`, for at most `timeout_ms`.
  void wait(std::uint32_t seen, int timeout_ms) const;

 private:
  struct Header;
  struct Region;
  [[noreturn]] static void refuse(const std::string& path);
  void map(const File& file, const std::string& path);
  std::atomic<std::uint64_t>& unit(std::uint64_t number) const;
  Region& region(std::uint64_t number) const;

  FileMapping mapping_;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace bale
