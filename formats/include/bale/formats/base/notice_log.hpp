// NoticeLog: what was found but not delivered, and warnings about a source or a container.
//
// Everything is counted. The number and length of the names and texts kept are bounded, so that a hostile container
// cannot fill memory. Names are raw bytes: pass them through printable() before you show them.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// Something that was skipped: a file, a member of an archive, a dataset in an HDF5 file.
struct Notice {
  std::string name;  // path, or "SHARD: NAME"; a name is cut after k_max_name_bytes
  std::string why;   // one of a few fixed texts: "symbolic link", "not an image by its name", ...
};

/// A remark about a container whose samples are all delivered.
struct Warning {
  std::string place;  // path of the container; empty in its own scan
  std::string what;
  bool is_flaw = false;                   // the container violates its format: verify counts it as damage
  std::optional<std::uint64_t> offset{};  // of the defect, in bytes
};

class NoticeLog {
 public:
  struct Reason {
    std::uint64_t count = 0;
    std::string example;  // the first name with this reason
  };
  static constexpr std::size_t k_max_notices = 1000;
  static constexpr std::size_t k_max_name_bytes = 4096;

  NoticeLog() = default;
  /// Keeps the names of the first `max_kept` notices, and the same number of warnings.
  explicit NoticeLog(std::size_t max_kept) : max_kept_(max_kept) {}

  /// Adds something that exists but is not delivered.
  void add(std::string_view name, std::string_view why);
  /// Adds the bytes from `offset` to the end of the file, which are not read because the container ends before them.
  void add_rest(std::uint64_t offset, std::uint64_t bytes);
  /// Adds a remark about the container being scanned. Each text is kept once.
  void warn(std::string_view what);
  /// Adds a violation of the container's format that readers tolerate.
  void flaw(std::string_view what, std::uint64_t offset);
  /// Removes all warnings with Warning::is_flaw.
  void drop_flaws();
  /// Adds everything in `other`, as notices about the container `place`.
  void merge(const NoticeLog& other, std::string_view place);

  /// The first notices.
  const std::vector<Notice>& kept() const { return kept_; }
  /// Number of notices, including those that are not kept.
  std::uint64_t count() const { return count_; }
  /// Counts by reason, which add up to count(). At most 64 reasons; the rest are counted as "other reasons".
  const std::map<std::string, Reason, std::less<>>& reasons() const { return reasons_; }
  /// The first warnings.
  const std::vector<Warning>& warnings() const { return warnings_; }
  bool empty() const { return count_ == 0 && warnings_.empty(); }

 private:
  void keep(Warning warning);
  void tally(std::string_view why, std::uint64_t number, std::string_view example);

  std::size_t max_kept_ = k_max_notices;
  std::vector<Notice> kept_;
  std::uint64_t count_ = 0;
  std::map<std::string, Reason, std::less<>> reasons_;
  std::vector<Warning> warnings_;
};

}  // namespace bale
