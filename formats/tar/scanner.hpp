// Scanner: walks the members of a tar stream by their headers, hopping over what lies between.
//
// Rules (what ends an archive, which name wins, what is refused): FORMAT.md, sections 3 and 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/tar/header.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

/// A regular file in the archive. Views live until the next step.
struct Member {
  std::string_view name;
  std::uint64_t begin = 0;   // of its first header, extended ones included
  std::uint64_t offset = 0;  // of its data in the stream
  std::uint64_t size = 0;
};

class Scanner {
 public:
  /// `path` is for messages; both must outlive the scanner.
  Scanner(const Stream& stream, const std::string& path);

  enum class Step {
    member,  // `out` is the next regular file
    end,     // the archive ends here, as it should
    odd,     // valid as far as one can tell, but for libarchive to read
  };
  /// Throws `damaged`, naming the offset, where there is no telling what the bytes mean.
  Step next(Member& out);
  /// After Step::end: where the end marker begins.
  std::uint64_t end() const { return header_at_; }

  /// The first `length` bytes of a member's data. Precondition: length <= member.size and 2048.
  Bytes start_of(const Member& member, std::size_t length) { return view(member.offset, length); }

 private:
  static constexpr std::size_t k_window_bytes = 2048;

  Bytes view(std::uint64_t offset, std::size_t length);
  /// What extended headers and long names say about the member that must follow them.
  struct Extras {
    PaxFields pax{};
    bool has_pax = false;
    bool has_long_name = false;  // it is in name_
    bool has_long_link = false;
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
  void check_size(std::uint64_t size) const;
  void check(std::string_view problem) const {
    if (!problem.empty()) fail(problem, header_at_);
  }
  [[noreturn]] void fail(std::string_view what, std::uint64_t offset) const;

  const Stream& stream_;
  const std::string& path_;
  const std::uint64_t stream_bytes_;
  std::uint64_t at_ = 0;         // of the next header
  std::uint64_t begin_at_ = 0;   // of the first header of the member being looked at
  std::uint64_t header_at_ = 0;  // of the header being looked at
  Header header_;
  PaxFields global_;
  std::string name_;
  std::vector<std::byte> extra_;
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace bale::tar
