// Scanner: walks the members of a tar stream by their headers and skips their data.
//
// Rules (what ends an archive, which name wins, what is refused): FORMAT.md, sections 3 and 7.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/tar/header/header.hpp"
#include "bale/formats/tar/reading/stream.hpp"

namespace bale::tar {

/// Any member of the archive except a directory. Views are valid until the next call of next().
struct Member {
  enum class Kind {
    file,
    hard_link,  // to `target`, an earlier member; has no data of its own
    other,      // is not read; `why` says what it is
  };
  Kind kind = Kind::file;
  std::string_view name;
  std::string_view target;
  std::string_view why;
  std::uint64_t begin = 0;   // of its first header, extended headers included
  std::uint64_t offset = 0;  // of its data in the stream
  std::uint64_t size = 0;
};

/// The block after an archive's end marker at `at` in which something other than zeros begins; nullopt if there is
/// none. After 64 MiB of zeros, the next block. Precondition: `at` is a multiple of the block size.
std::optional<std::uint64_t> rest_after_end(const Stream& stream, std::uint64_t at);

class Scanner {
 public:
  /// `path` is for messages. Defects that other readers tolerate are added to `notices`. All must outlive the scanner.
  Scanner(const Stream& stream, const std::string& path, NoticeLog& notices);

  enum class Step {
    member,  // `out` is the next member
    end,     // the archive ends here
    odd,     // valid so far, but only libarchive can read it
  };
  /// Throws `damaged`, with the offset, if the archive is malformed.
  Step next(Member& out);
  /// The offset of the last archive's end marker. Precondition: next() has returned Step::end.
  std::uint64_t end() const { return header_at_; }

  /// Bytes of a member's data. Preconditions: they are in the stream; length <= 2048.
  Bytes view(std::uint64_t offset, std::size_t length);

 private:
  static constexpr std::size_t k_window_bytes = 2048;

  /// What extended headers and long names say about the next member, which must follow.
  struct Extras {
    PaxFields pax{};
    bool has_pax = false;
    bool has_long_name = false;  // it is in name_
    bool has_long_link = false;  // it is in link_
    std::uint64_t bytes = 0;
    bool any() const { return has_pax || has_long_name || has_long_link; }
  };
  /// Reads the next header; false at the end of the archive.
  bool read_header(Extras& extras);
  /// Whether another archive follows the end marker at at_; moves to it. Reports anything else that follows.
  bool goes_on_after_end();
  /// Whether the header describes the next member (extended header, long name). `extras` then has its content.
  bool take_extra(Extras& extras);
  std::string_view take_extra_data(Extras& extras);
  /// Fills `out` from header and extras and moves past the data.
  void take_member(const Extras& extras, Member& out);
  void take_names(const Extras& extras, Member& out);
  void check_size(std::uint64_t size) const;
  void check(std::string_view problem) const {
    if (!problem.empty()) fail(problem, header_at_);
  }
  [[noreturn]] void fail(std::string_view what, std::uint64_t offset) const;

  const Stream& stream_;
  const std::string& path_;
  NoticeLog& notices_;
  const std::uint64_t stream_bytes_;
  std::uint64_t at_ = 0;         // of the next header
  std::uint64_t begin_at_ = 0;   // of the first header of the current member
  std::uint64_t header_at_ = 0;  // of the current header
  Header header_;
  PaxFields global_;
  std::string name_;
  std::string link_;
  std::vector<std::byte> extra_;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

// A tar whose files are all tars, as ImageNet's training images are shipped: one per class.

/// Scans one archive into an index. False if only libarchive can read it.
using ScanArchive = std::function<bool(const Stream& stream, IndexBuilder& index)>;

/// If every sample of `index`, found in `stream`, is one file `X.tar` and the first of them is a tar, replaces the
/// index by one of the samples in these archives: their keys have `X/` in front, their offsets are those in `stream`.
/// `path` is for messages. Throws `damaged` if another of them is not a tar, `unsupported` if only libarchive can read
/// it, and if all are zip archives.
void open_nested(const Stream& stream, const std::string& path, const ScanArchive& scan, IndexBuilder& index);

}  // namespace bale::tar
