// NoticeLog: what was found but not delivered, and what a reader should know of a source or a container.
//
// Everything is counted. Names and texts are kept up to a bound, so that a hostile container cannot fill memory.
// Names are raw bytes: make them printable() before they are shown. For one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// Something that was passed over: a file, a member of an archive, a dataset of a file.
struct Notice {
  std::string name;  // path, or "SHARD: NAME"; a name over k_max_name_bytes is cut
  std::string why;   // "symbolic link", "not an image by its name", ...: one of a few fixed texts
};

/// Something worth a line about a container whose samples are all delivered.
struct Warning {
  std::string place;  // the container; empty in its own scan
  std::string what;
  bool is_flaw = false;                   // the container breaks its format's rules: verify counts it as damage
  std::optional<std::uint64_t> offset{};  // of the flaw
};

class NoticeLog {
 public:
  struct Reason {
    std::uint64_t count = 0;
    std::string example;  // the first name
  };
  static constexpr std::size_t k_max_notices = 1000;
  static constexpr std::size_t k_max_name_bytes = 4096;

  NoticeLog() = default;
  /// Keeps the names of the first `max_kept` notices, and as many warnings.
  explicit NoticeLog(std::size_t max_kept) : max_kept_(max_kept) {}

  /// Something that is there and is not delivered.
  void add(std::string_view name, std::string_view why);
  /// Something worth a line about the container being scanned. A text is kept once.
  void warn(std::string_view what);
  /// The same if the container breaks its format's rules and other readers tolerate it.
  void flaw(std::string_view what, std::uint64_t offset);
  void drop_flaws();
  /// Adds all that `other` says of the container `place`.
  void merge(const NoticeLog& other, std::string_view place);

  /// What was passed over: the first names.
  const std::vector<Notice>& kept() const { return kept_; }
  std::uint64_t count() const { return count_; }
  /// By reason: every notice is counted in one of them.
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
