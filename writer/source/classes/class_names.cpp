#include "bale/writer/source/classes/class_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

constexpr std::int64_t k_max_class = 1'000'000;
constexpr std::string_view k_blanks = " \t\r\n";

void append_utf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t k_first[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(k_first[more] | code >> (6 * more));
  for (int left = more - 1; left >= 0; --left) out += static_cast<char>(0x80 | (code >> (6 * left) & 0x3F));
}

/// Appends what an escape in double quotes stands for. `text` follows the backslash. Returns the number of characters
/// taken; 0 for an escape that YAML does not have. Source: YAML 1.2.2, section 5.7.
std::size_t add_escaped(std::string_view text, std::string& out) {
  constexpr std::string_view k_names = "abt\tnvfre \"/\\N_LP";
  constexpr std::array<std::uint32_t, 17> k_codes{7,   8,   9,   9,    10,   11,   12,     13,    27,
                                                  ' ', '"', '/', '\\', 0x85, 0xA0, 0x2028, 0x2029};
  if (text.empty()) return 0;
  if (const std::size_t at = k_names.find(text[0]); at != std::string_view::npos) {
    append_utf8(k_codes[at], out);
    return 1;
  }
  const std::size_t digits = text[0] == 'x' ? 2 : text[0] == 'u' ? 4 : text[0] == 'U' ? 8 : 0;
  std::uint32_t code = 0;
  const std::string_view hex = text.substr(1, digits);
  const auto [end, problem] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
  const bool is_code = digits > 0 && hex.size() == digits && problem == std::errc{} && end == hex.data() + hex.size();
  if (!is_code || code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  append_utf8(code, out);
  return 1 + digits;
}

/// A plain or quoted YAML text, up to one of `ends`, and what follows it.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  void skip_space() {
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(k_blanks), rest_.size()));
      if (!rest_.starts_with('#')) return;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
  }
  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// The characters before the next blank.
  std::string_view take_word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(k_blanks));
    rest_.remove_prefix(word.size());
    return word;
  }
  /// nullopt: a form that is not read.
  std::optional<std::string> scalar(std::string_view ends) {
    if (rest_.starts_with('\'') || rest_.starts_with('"')) return quoted();
    if (rest_.starts_with('&')) {  // an anchor
      take_word();
      skip_space();
      return scalar(ends);
    }
    if (rest_.empty() || std::string_view("[{*!|>%@`").find(rest_[0]) != std::string_view::npos) return std::nullopt;
    std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    const std::size_t comment = std::min(rest_.find(" #"), rest_.find("\t#"));
    end = std::min(end, comment);
    const std::string value(stripped(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    return value;
  }

 private:
  std::optional<std::string> quoted() {
    const char quote = rest_[0];
    std::string value;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\n') return std::nullopt;
      if (rest_[i] == '\\' && quote == '"') {
        const std::size_t taken = add_escaped(rest_.substr(i + 1), value);
        if (taken == 0) return std::nullopt;
        i += taken;
      } else if (rest_[i] != quote) {
        value += rest_[i];
      } else if (quote == '\'' && i + 1 < rest_.size() && rest_[i + 1] == quote) {
        value += rest_[i++];
      } else {
        rest_.remove_prefix(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

class DataYaml {
 public:
  DataYaml(std::string_view text, const std::string& path) : path_(path), text_(text) {}

  YoloData parse() {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
    if (stripped(text_).starts_with('{')) {
      take_json();
    } else {
      while (at_ < text_.size()) take_member(take_line());
    }
    if (data_.names.empty()) fail(ErrorCode::damaged, "no `names`, as a data.yaml of YOLO has");
    if (count_ && *count_ != static_cast<std::int64_t>(data_.names.size())) {
      fail(ErrorCode::damaged, fmt::format("nc is {}, but there are {} names", *count_, data_.names.size()));
    }
    return std::move(data_);
  }

 private:
  [[noreturn]] void fail(ErrorCode code, std::string_view what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(start_), '\n');
    throw Error(code, fmt::format("line {}: {}", line, what),
                {.path = path_, .hint = "write `names: [first, second]`, or give a file with one name per line"});
  }
  [[noreturn]] void fail_form() const { fail(ErrorCode::unsupported, "a form of YAML that bale does not read"); }

  std::string_view take_line() {
    start_ = at_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    at_ = std::min(end + 1, text_.size());
    std::string_view line = text_.substr(start_, end - start_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  /// JSON is YAML, too.
  void take_json() {
    try {
      const Json root = parse_json(text_);
      const Json& names = root.at("names");
      std::int64_t next = 0;
      if (names.is_array()) {
        for (const Json& name : names.as_list("names")) add(next++, name.as_text("a name"));
      } else {
        for (const auto& [number, name] : names.as_members("names")) add(number_of(number), name.as_text("a name"));
      }
      if (root.contains("nc")) count_ = root.whole<std::int64_t>("nc");
      if (!root.contains("kpt_shape")) return;
      const std::vector<Json>& shape = root.list("kpt_shape");
      if (shape.size() != 2) fail(ErrorCode::damaged, k_bad_shape);
      set_keypoints(shape[0].as_count("kpt_shape"), shape[1].as_count("kpt_shape"));
    } catch (const Error& error) {
      if (!error.context().path.empty()) throw;
      fail(error.code(), error.message());
    }
  }

  /// A line "name: value", whose name may be quoted.
  void take_member(std::string_view line) {
    if (line.empty() || std::string_view(" \t#-").find(line[0]) != std::string_view::npos) return;
    Scanner member(line);
    const std::optional<std::string> name = member.scalar(":");
    if (name) member.skip_space();
    if (!name || !member.take(':')) return;
    const std::string_view after = member.rest();
    if (*name == "names") {
      take_names(after);
    } else if (*name == "nc") {
      Scanner value(stripped(after));
      count_ = whole_number<std::int64_t>(value.scalar("\n").value_or(""));
      if (!count_) fail(ErrorCode::damaged, "nc is not a whole number");
    } else if (*name == "kpt_shape") {
      take_shape(after);
    }
  }

  /// "[17, 3]", or two lines "- 17" and "- 3".
  void take_shape(std::string_view after) {
    std::vector<std::size_t> numbers;
    Scanner list(from(after));
    list.skip_space();
    const bool is_flow = list.take('[');
    while (numbers.size() < 2) {
      list.skip_space();
      if (!is_flow && !list.take('-')) break;
      list.skip_space();
      const auto number = whole_number<std::int64_t>(list.scalar(is_flow ? ",]\n" : "\n").value_or(""));
      if (!number || *number < 0) break;
      numbers.push_back(static_cast<std::size_t>(*number));
      if (is_flow && !list.take(',')) break;
    }
    if (numbers.size() != 2) fail(ErrorCode::damaged, k_bad_shape);
    set_keypoints(numbers[0], numbers[1]);
  }

  void set_keypoints(std::size_t count, std::size_t numbers) {
    if (count == 0 || count > k_max_keypoints || numbers < 2 || numbers > 3) fail(ErrorCode::damaged, k_bad_shape);
    data_.keypoints = {.count = count, .numbers = numbers};
  }

  /// The whole text from where `part` of it begins.
  std::string_view from(std::string_view part) const {
    return text_.substr(static_cast<std::size_t>(part.data() - text_.data()));
  }

  /// The rest of the line after the anchor "&NAME". Reading continues in the next line.
  std::string_view go_to_anchor(std::string_view name) {
    const std::string anchor = fmt::format(" &{}", name);
    for (std::size_t at = text_.find(anchor); at != std::string_view::npos; at = text_.find(anchor, at + 1)) {
      const std::string_view after = text_.substr(at + anchor.size());
      if (!after.empty() && k_blanks.find(after[0]) == std::string_view::npos) continue;
      at_ = text_.rfind('\n', at) + 1;
      const std::string_view line = take_line();
      return line.substr(at + anchor.size() - start_);
    }
    fail_form();
  }

  void take_names(std::string_view after) {
    if (!data_.names.empty()) fail(ErrorCode::damaged, "`names` a second time");
    const std::size_t next = at_;
    Scanner value(stripped(after));
    if (value.take('*')) {
      take_list(go_to_anchor(value.take_word()));
      at_ = next;
      return;
    }
    if (value.take('&')) {
      value.take_word();
      after = value.rest();
    }
    take_list(after);
  }

  void take_list(std::string_view after) {
    // A list in brackets may begin and continue in the next lines.
    Scanner list(from(after));
    list.skip_space();
    if (!list.rest().starts_with('[') && !list.rest().starts_with('{')) {
      const std::string_view here = stripped(after);
      if (!here.empty() && !here.starts_with('#')) fail_form();
      return take_block();
    }
    take_flow(list);
    at_ = text_.size() - list.rest().size();
    if (!stripped(take_line()).empty() && !stripped(text_.substr(start_, at_ - start_)).starts_with('#')) fail_form();
  }

  void take_flow(Scanner& list) {
    const bool is_map = list.take('{');
    if (!is_map) list.take('[');
    const char close = is_map ? '}' : ']';
    for (list.skip_space(); !list.take(close); list.skip_space()) {
      std::int64_t number = static_cast<std::int64_t>(data_.names.size());
      if (is_map) {
        number = number_of(list.scalar(":,}\n"));
        list.skip_space();
        if (!list.take(':')) fail_form();
        list.skip_space();
      }
      add(number, list.scalar(is_map ? ",}\n" : ",]\n"));
      list.skip_space();
      if (!list.take(',') && !list.rest().starts_with(close)) fail_form();
    }
  }

  /// Lines "- name" or "  0: name", until one that begins another member.
  void take_block() {
    while (at_ < text_.size()) {
      const std::size_t back = at_;
      const std::string_view line = take_line();
      const std::string_view inside = stripped(line);
      if (inside.empty() || inside.starts_with('#')) continue;
      const bool is_item = inside.starts_with("- ");
      if (!is_item && line[0] != ' ' && line[0] != '\t') {
        at_ = back;
        return;
      }
      Scanner entry(is_item ? stripped(inside.substr(2)) : inside);
      auto number = static_cast<std::int64_t>(data_.names.size());
      if (!is_item) {
        number = number_of(entry.scalar(":"));
        if (!entry.take(':')) fail_form();
        entry.skip_space();
      }
      add(number, entry.scalar("\n"));
      entry.skip_space();
      if (!entry.rest().empty()) fail_form();
    }
  }

  std::int64_t number_of(const std::optional<std::string>& text) const {
    const auto number = text ? whole_number<std::int64_t>(*text) : std::nullopt;
    if (!number || *number < 0 || *number > k_max_class) fail_form();
    return *number;
  }

  void add(std::int64_t number, std::optional<std::string> name) {
    if (!name || name->empty()) fail_form();
    const auto at = static_cast<std::size_t>(number);
    if (data_.names.size() <= at) data_.names.resize(at + 1);
    if (!data_.names[at].empty()) fail(ErrorCode::damaged, fmt::format("class {} has two names", number));
    data_.names[at] = std::move(*name);
  }

  static constexpr std::size_t k_max_keypoints = 10'000;
  static constexpr std::string_view k_bad_shape =
      "kpt_shape is not the number of keypoints, and 2 or 3 numbers of each";

  const std::string& path_;
  std::string_view text_;
  std::optional<std::int64_t> count_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  // of the current line
  YoloData data_;
};

}  // namespace

YoloData parse_data_yaml(std::string_view text, const std::string& path) { return DataYaml(text, path).parse(); }

std::vector<std::string> parse_class_lines(std::string_view text) {
  std::vector<std::string> names;
  for_each_line(text, [&](std::string_view line, std::size_t) { names.emplace_back(line); });
  return names;
}

}  // namespace bale
