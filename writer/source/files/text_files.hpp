// Small files of annotations, one per image: listed once, read again when their sample is read.
//
// Threads: const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

class TextFiles {
 public:
  static constexpr std::uint64_t k_max_bytes = std::uint64_t{64} << 20;

  /// Adds the file if it exists, and returns whether it does. Its row is size() - 1 then. Throws `io`.
  bool add(std::string path);

  std::uint32_t size() const { return static_cast<std::uint32_t>(files_.size()); }
  const std::string& path(std::uint32_t row) const { return files_[row].path; }
  std::uint64_t bytes(std::uint32_t row) const { return files_[row].bytes; }
  /// The whole file. Throws `changed` if it is not as it was listed, `unsupported` if it is larger than k_max_bytes,
  /// `not_found`, `io`.
  std::string read(std::uint32_t row) const;
  /// Appends size and time.
  void append_identity(std::uint32_t row, std::string& out) const;

 private:
  struct File {
    std::string path;
    std::uint64_t bytes;
    std::int64_t mtime_ns;
  };
  std::vector<File> files_;
};

/// Where in a text something is, for messages: "line 7: ", or nothing for line 0: not in a text of lines.
inline std::string place_in_text(std::uint64_t line) {
  return line == 0 ? std::string() : "line " + std::to_string(line) + ": ";
}

/// Throws `unsupported` if the beginning of a text file says that it is UTF-16.
void refuse_utf16(std::string_view head, const std::string& path);
/// Throws as refuse_utf16(), and `invalid_argument` if a part of a text file, such as a label, is not UTF-8. Paths in
/// it may be any bytes.
void require_utf8(std::string_view text, const std::string& path = {}, std::uint64_t line = 0);

/// The delimiter if the line, the first of a table, says it as Excel's "sep=;" does.
std::optional<char> delimiter_said_in(std::string_view line);

/// The lines of `text` without their ends and without blanks around them. Calls use(line, number from 1) for each that
/// is not empty.
template <typename Use>
void for_each_line(std::string_view text, const Use& use) {
  constexpr std::string_view k_blanks = " \t\r";
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const std::size_t first = line.find_first_not_of(k_blanks);
    if (first != std::string_view::npos) {
      line = line.substr(first, line.find_last_not_of(k_blanks) - first + 1);
      use(line, number);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace bale
