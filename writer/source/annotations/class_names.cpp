#include "bale/formats/base/ascii_case.hpp"
#include "bale/writer/source/annotations/class_names.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/annotations/text_files.hpp"
#include "bale/writer/source/integer_text.hpp"

namespace bale {
namespace {

constexpr std::int64_t k_max_class = 1'000'000;
constexpr std::string_view k_blanks = " \t\r\n";

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
  /// nullopt: a form that is not read.
  std::optional<std::string> scalar(std::string_view ends) {
    if (rest_.starts_with('\'') || rest_.starts_with('"')) return quoted();
    if (rest_.empty() || std::string_view("[{&*!|>%@`").find(rest_[0]) != std::string_view::npos) return std::nullopt;
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
        const bool is_plain = i + 1 < rest_.size() && (rest_[i + 1] == '"' || rest_[i + 1] == '\\');
        if (!is_plain) return std::nullopt;
        value += rest_[++i];
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
    std::optional<std::int64_t> count;
    while (at_ < text_.size()) {
      const std::string_view line = take_line();
      if (line.starts_with("names:")) {
        take_names(line.substr(6));
      } else if (line.starts_with("nc:")) {
        Scanner value(stripped(line.substr(3)));
        count = parse_integer(value.scalar("\n").value_or(""));
        if (!count) fail(ErrorCode::damaged, "nc is not a whole number");
      } else if (line.starts_with("kpt_shape:")) {
        data_.has_keypoints = true;
      }
    }
    if (data_.names.empty()) fail(ErrorCode::damaged, "no `names`, as a data.yaml of YOLO has");
    if (count && *count != static_cast<std::int64_t>(data_.names.size())) {
      fail(ErrorCode::damaged, fmt::format("nc is {}, but there are {} names", *count, data_.names.size()));
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

  void take_names(std::string_view after) {
    if (!data_.names.empty()) fail(ErrorCode::damaged, "`names` a second time");
    // A list in brackets may begin and go on in the next lines.
    Scanner list(text_.substr(static_cast<std::size_t>(after.data() - text_.data())));
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
    const auto number = text ? parse_integer(*text) : std::nullopt;
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

  const std::string& path_;
  std::string_view text_;
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
