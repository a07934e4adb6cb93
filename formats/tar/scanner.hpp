// Scanner: walks the members of a tar stream by their headers, hopping over what lies between.
//
// Rules (what ends an archive, which name wins, what is refused): FORMAT.md, sections 3 and 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/tar/header.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

/// Anything in the archive but directories. Views live until the next step.
struct Member {
  enum class Kind {
    file,
    hard_link,  // to `target`, an earlier member; without data of its own
    other,      // without data that anybody could want; `why` says what it is
  };
  Kind kind = Kind::file;
  std::string_view name;
  std::string_view target;
  std::string_view why;
  std::uint64_t begin = 0;   // of its first header, extended ones included
  std::uint64_t offset = 0;  // of its data in the stream
  std::uint64_t size = 0;
};

class Scanner {
 public:
  /// `path` is for messages. What other readers tolerate goes into `notices` as a flaw. All must outlive the scanner.
  Scanner(const Stream& stream, const std::string& path, NoticeLog& notices);

  enum class Step {
    member,  // `out` is the next member
    end,     // the archive ends here, as it should
    odd,     // valid as far as one can tell, but for libarchive to read
  };
  /// Throws `damaged`, naming the offset, where there is no telling what the bytes mean.
  Step next(Member& out);
  /// After Step::end: where the end marker begins.
  std::uint64_t end() const { return header_at_; }

  /// Bytes of a member's data. Preconditions: they are in the stream; length <= 2048.
  Bytes view(std::uint64_t offset, std::size_t length);

 private:
  static constexpr std::size_t k_window_bytes = 2048;

  /// What extended headers and long names say about the member that must follow them.
  struct Extras {
    PaxFields pax{};
    bool has_pax = false;
    bool has_long_name = false;  // it is in name_
    bool has_long_link = false;  // it is in link_
    std::uint64_t bytes = 0;
    bool any() const { return has_pax || has_long_name || has_long_link; }
  };
  /// Moves to the next header that is not zero; false at the archive's end.
  bool read_header(const Extras& extras);
  /// Whether the header opened something said about the next member; it is then in `extras`.
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
  std::uint64_t begin_at_ = 0;   // of the first header of the member being looked at
  std::uint64_t header_at_ = 0;  // of the header being looked at
  Header header_;
  PaxFields global_;
  std::string name_;
  std::string link_;
  std::vector<std::byte> extra_;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace bale::tar
