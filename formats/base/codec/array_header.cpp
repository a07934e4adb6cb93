#include "bale/formats/base/codec/array_header.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace bale {
namespace {

constexpr std::size_t k_alignment = 64;
constexpr std::size_t k_max_sides = 64;  // NumPy's own limit

/// Parses the dict literal. Each function removes what it names from the front, or fails and leaves the rest undefined.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool header(ArrayHeader& out) {
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    if (!take('{')) return false;
    bool comma = true;
    while (!take('}')) {
      std::string_view key;
      if (!comma || !quoted(key) || !take(':')) return false;
      // NumPy writes each key once.
      if (key == "descr" && !has_type) {
        std::string_view type;
        has_type = quoted(type);
        if (!has_type) return false;
        out.type = type;
      } else if (key == "fortran_order" && !has_order) {
        out.fortran_order = word("True");
        has_order = out.fortran_order || word("False");
        if (!has_order) return false;
      } else if (key == "shape" && !has_shape) {
        has_shape = numbers(out.shape);
        if (!has_shape) return false;
      } else {
        return false;
      }
      comma = take(',');
    }
    skip_space();
    return has_type && has_order && has_shape && rest_.empty();
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool peek(char c) {
    skip_space();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view text) {
    skip_space();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool quoted(std::string_view& out) {
    if (!peek('\'') && !peek('"')) return false;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  /// A tuple. With a single number, it needs a comma.
  bool numbers(std::vector<std::uint64_t>& out) {
    if (!take('(')) return false;
    bool comma = true;
    while (!take(')')) {
      if (!comma || out.size() == k_max_sides) return false;
      skip_space();
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      if (error != std::errc{}) return false;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // the suffix of Python 2's long integers
      out.push_back(number);
      comma = take(',');
    }
    return out.size() != 1 || comma;
  }

  std::string_view rest_;
};

}  // namespace

std::string array_header_text(std::string_view type, std::span<const std::uint64_t> shape) {
  constexpr std::size_t k_prefix_bytes = 10;
  std::string sides;
  for (const std::uint64_t side : shape) sides += fmt::format("{}{}", sides.empty() ? "" : ", ", side);
  if (shape.size() == 1) sides += ",";
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, sides);
  // At least two lines of 64 bytes, NumPy's own size for images.
  std::size_t total = 2 * k_alignment;
  while (total < k_prefix_bytes + dict.size() + 1) total += k_alignment;
  dict.resize(total - k_prefix_bytes - 1, ' ');
  dict += '\n';
  std::string header(k_array_magic);
  header += std::string_view("\x01\x00", 2);
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

std::string image_header_text(std::uint64_t height, std::uint64_t width) {
  const std::uint64_t shape[] = {height, width, 3};
  return array_header_text("|u1", shape);
}

std::optional<ArrayHeader> parse_array_header(Bytes head) {
  const std::string_view text = as_text(head);
  constexpr std::size_t k_version_at = k_array_magic.size();
  constexpr std::size_t k_length_at = k_version_at + 2;
  if (text.size() < k_length_at + 4 || !text.starts_with(k_array_magic)) return std::nullopt;
  const int version = text[k_version_at];
  if (version < 1 || version > 3 || text[k_version_at + 1] != 0) return std::nullopt;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::size_t{static_cast<unsigned char>(text[k_length_at + i])} << (8 * i);
  }
  const std::size_t begin = k_length_at + length_bytes;
  if (length > text.size() - begin) return std::nullopt;
  ArrayHeader header{.shape = {}, .data_offset = begin + length};
  if (!Literal(text.substr(begin, length)).header(header)) return std::nullopt;
  return header;
}

void fail_array_header(Bytes head, ErrorContext context) {
  const std::string_view text = as_text(head);
  constexpr std::size_t k_version_at = k_array_magic.size();
  if (text.starts_with(k_array_magic) && text.size() > k_version_at && text[k_version_at] > 3) {
    context.hint = "save it with numpy.save()";
    throw Error(ErrorCode::unsupported,
                fmt::format("a NumPy array of format version {}, bale reads 1 to 3", int{text[k_version_at]}),
                std::move(context));
  }
  const std::string_view dict = text.substr(0, text.find('\n'));
  if (text.starts_with(k_array_magic) && dict.find("'descr': [") != std::string_view::npos) {
    context.hint = "save one column of it, of a plain type";
    throw Error(ErrorCode::unsupported, "a NumPy array of records", std::move(context));
  }
  throw Error(ErrorCode::damaged, "not a NumPy array: its header cannot be read", std::move(context));
}

std::optional<std::uint64_t> num_elements(const ArrayHeader& header) {
  constexpr std::uint64_t k_limit = std::numeric_limits<std::int64_t>::max();
  std::uint64_t count = 1;
  for (const std::uint64_t side : header.shape) {
    if (side != 0 && count > k_limit / side) return std::nullopt;
    count *= side;
  }
  return count;
}

}  // namespace bale
