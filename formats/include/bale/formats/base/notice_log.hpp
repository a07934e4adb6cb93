// NoticeLog: the one ledger of what a source or a container has, or an option asks for, that was not taken or used.
//
// Entries that are not delivered, as was asked (`exclude`) or not; patterns and names that match nothing; options
// without effect; remarks. The command line prints all of it, also with `quiet`, Python warns of what nobody asked for,
// `json` counts it, and `strict` makes it an error.
//
// Everything is counted. The number and length of the names and texts kept are bounded, so that a hostile container
// cannot fill memory. Names are raw bytes: pass them through printable() before you show them.
//
// Threads: used by one thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
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

enum class WarningKind {
  remark,     // about a container or source whose samples are all delivered
  defect,     // the container violates its format: verify counts it as damage
  no_match,   // a pattern, or names in a list, that match nothing
  no_effect,  // an option that this source does not use
  asked,      // about what an option asks for, said in case it was not meant
};

struct Warning {
  std::string place;  // path of the container; empty in its own scan
  std::string what;
  WarningKind kind = WarningKind::remark;
  std::optional<std::uint64_t> offset{};  // of a defect, in bytes
  std::uint64_t count = 1;                // patterns, names or options that it stands for
  std::string subject{};                  // the pattern or option, if others of the same command may take it
};

class NoticeLog {
 public:
  struct Reason {
    std::uint64_t count = 0;
    std::string example;    // the first name with this reason
    bool is_asked = false;  // an option asked for it
  };
  static constexpr std::size_t k_max_notices = 1000;
  static constexpr std::size_t k_max_name_bytes = 4096;

  NoticeLog() = default;
  /// Keeps the names of the first `max_kept` notices, and the same number of warnings.
  explicit NoticeLog(std::size_t max_kept) : max_kept_(max_kept) {}

  /// Adds something that exists but is not delivered.
  void add(std::string_view name, std::string_view why);
  /// Adds something that is not delivered because an option asks for that. It is counted, and the first is the example.
  void leave_out(std::string_view name, std::string_view why);
  /// Adds the bytes from `offset` to the end of the file, which are not read because the container ends before them.
  void add_rest(std::uint64_t offset, std::uint64_t bytes);
  /// Adds a remark about the container being scanned. Each text is kept once.
  void warn(std::string_view what);
  /// Adds a remark about what an option asks for, which `strict` does not refuse.
  void mention(std::string_view what);
  /// Adds a violation of the container's format that readers tolerate.
  void defect(std::string_view what, std::uint64_t offset);
  /// Adds that `text`, given with the option, matches nothing in `place`.
  void no_match(std::string_view option, std::string_view text, std::string_view place);
  /// Adds that `count` things which the option names match nothing in `place`, as `what` says.
  void no_matches(std::uint64_t count, std::string_view what, std::string_view place);
  /// Adds that the option has no effect on `place`, for the reason `why`.
  void no_effect(std::string_view option, std::string_view why, std::string_view place);
  /// What several sources of one command did not take or use. A pattern or option is in it, once, if none of them took
  /// it.
  static NoticeLog of_all(std::initializer_list<const NoticeLog*> logs) { return of_all(std::vector(logs)); }
  static NoticeLog of_all(const std::vector<const NoticeLog*>& logs);
  /// Removes the notices with this reason: what they name is delivered after all.
  void drop(std::string_view why);
  /// Removes all defects.
  void drop_defects();
  /// Adds everything in `other`, as notices about the container `place`.
  void merge(const NoticeLog& other, std::string_view place);

  /// The first notices, without those that were asked for.
  const std::vector<Notice>& kept() const { return kept_; }
  /// Number of notices, including those that are not kept.
  std::uint64_t count() const { return count_; }
  /// Counts by reason, which add up to count(). At most 64 reasons; the rest are counted as "other reasons".
  const std::map<std::string, Reason, std::less<>>& reasons() const { return reasons_; }
  /// The first warnings.
  const std::vector<Warning>& warnings() const { return warnings_; }
  /// Number of patterns and names, or options, that the warnings of this kind stand for.
  std::uint64_t count_of(WarningKind kind) const;
  bool empty() const { return count_ == 0 && warnings_.empty(); }
  /// Whether it has anything that no option asked for.
  bool has_unasked() const;

 private:
  void keep(Warning warning);
  Reason& tally(std::string_view why, std::uint64_t number, std::string_view example);

  std::size_t max_kept_ = k_max_notices;
  std::vector<Notice> kept_;
  std::uint64_t count_ = 0;
  std::map<std::string, Reason, std::less<>> reasons_;
  std::vector<Warning> warnings_;
};

}  // namespace bale
