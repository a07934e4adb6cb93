#include "bale/writer/source/files/text_files.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/steady_file.hpp"

namespace bale {

constexpr std::size_t k_max_shown = 80;

bool TextFiles::add(std::string path) {
  struct stat info {};
  if (stat_long_path(path, info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_errno("examine", path);
  }
  files_.push_back({std::move(path), static_cast<std::uint64_t>(info.st_size), mtime_ns(info)});
  return true;
}

std::string TextFiles::read(std::uint32_t row) const {
  const File& file = files_[row];
  if (file.bytes > k_max_bytes) {
    throw Error(ErrorCode::unsupported, fmt::format("annotations of more than {} bytes", k_max_bytes),
                {.path = file.path});
  }
  std::string text(file.bytes + 1, '\0');
  const SteadyFile steady(file.path);
  if (steady.size() != file.bytes || steady.changed_ns() != file.mtime_ns ||
      !steady.read({reinterpret_cast<std::byte*>(text.data()), text.size()}, file.path)) {
    throw Error(ErrorCode::changed, "the annotations changed since they were listed",
                {.path = file.path, .hint = "pack again when nothing writes to them"});
  }
  text.pop_back();
  return text;
}

void refuse_utf16(std::string_view head, const std::string& path) {
  if (!head.starts_with("\xFF\xFE") && !head.starts_with("\xFE\xFF")) return;
  throw Error(ErrorCode::unsupported, "a text in UTF-16", {.path = path, .hint = "save it in UTF-8"});
}

void require_utf8(std::string_view text, const std::string& path, std::uint64_t line) {
  if (is_utf8(text)) return;
  if (line <= 1) refuse_utf16(text, path);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}\"{}\" is not UTF-8", place_in_text(line), excerpt(printable(text), k_max_shown)),
              {.path = path, .hint = k_utf8_hint});
}

std::optional<char> delimiter_said_in(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() == 7 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, 5);
  return line.size() == 5 && lower_case(line.substr(0, 4)) == "sep=" ? std::optional(line[4]) : std::nullopt;
}

void TextFiles::append_identity(std::uint32_t row, std::string& out) const {
  out += fmt::format("{}:{}", files_[row].bytes, files_[row].mtime_ns);
}

}  // namespace bale
