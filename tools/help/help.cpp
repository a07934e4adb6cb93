#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "bale/tools/help/command_model.hpp"

namespace bale::tools {
namespace {

/// Insertions, deletions, replacements and swaps of neighbors that make `b` of `a` (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        best[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = best[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      best[i][j] = std::min({best[i - 1][j] + 1, best[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
      }
    }
  }
  return best[a.size()][b.size()];
}

constexpr unsigned k_max_width = 100;
constexpr std::size_t k_option_indent = 30;

/// Breaks `text` at spaces so that no line is longer than `width`. Later lines are indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t word = end - begin;
    if (column > indent && column + 1 + word > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out.append(text, begin, word);
    column += word;
    begin = end + 1;
  }
  return out;
}

std::string row(const std::string& title, const std::string& text, std::size_t indent, std::size_t width) {
  std::string out = "  " + title;
  if (out.size() + 2 > indent) {
    out += '\n';
    out.append(indent, ' ');
  } else {
    out.append(indent - out.size(), ' ');
  }
  return out + wrapped(text, indent, width) + '\n';
}

/// `line` without its last words, so that it ends within `columns`.
std::string cut(const std::string& line, std::size_t columns) {
  constexpr std::string_view k_ellipsis = " ...";
  return line.substr(0, line.rfind(' ', columns - k_ellipsis.size())) + std::string(k_ellipsis);
}

/// Everything but the footer. `show_row` makes one option's part of a title, a text and the column of the text.
template <typename ShowRow>
std::string help_of(const CommandModel& command, std::size_t columns, const ShowRow& show_row) {
  std::string out = wrapped(command.summary, 0, columns) + "\n\nUsage: " + command.usage() + '\n';
  const auto positionals = command.positionals();
  if (!positionals.empty()) out += '\n';
  for (const OptionModel* positional : positionals) out += show_row(positional->title(), positional->text, 9);

  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandModel& child : command.commands) out += show_row(child.short_name(), child.summary, 14);

  for (const OptionGroup& group : command.groups()) {
    out += '\n' + group.title + ":\n";
    for (const OptionModel* option : group.options) out += show_row(option->title(), option->text, k_option_indent);
  }
  return out;
}

}  // namespace

std::string suggestion(std::string_view typed, const std::vector<std::string>& words) {
  constexpr std::size_t k_longest = 64;  // of a word that can be meant
  if (typed.size() > k_longest) return {};
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  std::string nearest;
  for (const std::string& word : words) {
    // A word that was cut short is meant, however much is missing.
    const bool is_begin = typed.size() > 3 && word.starts_with(typed);
    const std::size_t distance = is_begin ? 1 : edit_distance(typed, word);
    if (distance >= least) continue;
    least = distance;
    nearest = word;
  }
  return nearest.empty() ? std::string{} : "; did you mean " + nearest + "?";
}

std::vector<const OptionModel*> CommandModel::positionals() const {
  std::vector<const OptionModel*> found;
  for (const OptionModel& option : options) {
    if (option.is_positional()) found.push_back(&option);
  }
  return found;
}

std::vector<OptionGroup> CommandModel::groups() const {
  std::vector<OptionGroup> groups;
  for (const OptionModel& option : options) {
    if (option.is_positional()) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const OptionGroup& other) { return other.title == option.group; });
    if (group == groups.end()) group = groups.insert(group, {.title = option.group, .options = {}});
    group->options.push_back(&option);
  }
  return groups;
}

std::string CommandModel::short_name() const { return name.substr(name.rfind(' ') + 1); }

std::string CommandModel::usage() const {
  std::string usage = name + " [OPTIONS]";
  for (const OptionModel* positional : positionals()) {
    usage += positional->required ? ' ' + positional->value_name : " [" + positional->value_name + ']';
  }
  if (!commands.empty()) usage += " COMMAND ...";
  return usage;
}

std::string help_text(const CommandModel& command, unsigned width) {
  const std::size_t columns = std::clamp(width, 50U, k_max_width);
  const auto wrapping = [&](const std::string& title, const std::string& text, std::size_t indent) {
    return row(title, text, indent, columns);
  };
  std::string out = help_of(command, columns, wrapping);
  if (!command.footer.empty()) out += '\n' + command.footer + '\n';
  return out;
}

std::string short_help_text(const CommandModel& command, unsigned width) {
  const std::size_t columns = std::clamp(width, 50U, k_max_width);
  const auto cutting = [&](const std::string& title, const std::string& text, std::size_t indent) {
    const std::string line = row(title, text.substr(0, text.find("; ")), indent, std::string::npos);
    const std::size_t begin = line.find('\n') == line.size() - 1 ? 0 : line.find('\n') + 1;  // below a long title
    const std::size_t length = line.size() - 1 - begin;
    return length <= columns ? line : cut(line.substr(0, line.size() - 1), begin + columns) + '\n';
  };
  return help_of(command, columns, cutting) + fmt::format("\n`{} --help` says more.\n", command.name);
}

}  // namespace bale::tools
