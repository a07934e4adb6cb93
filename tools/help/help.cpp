#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/tools/help/command_model.hpp"

namespace bale::tools {
namespace {

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

}  // namespace

std::string OptionModel::title() const {
  if (is_positional()) return value_name;
  std::string title = short_name.empty() ? "    " : short_name;
  if (!short_name.empty() && !long_name.empty()) title += ", ";
  title += long_name;
  if (takes_value()) title += ' ' + value_name;
  return title;
}

std::vector<std::string> OptionModel::choices() const {
  std::vector<std::string> choices;
  if (value_name.find('|') == std::string::npos) return choices;
  for (std::size_t begin = 0; begin <= value_name.size();) {
    const std::size_t end = std::min(value_name.find('|', begin), value_name.size());
    choices.push_back(value_name.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

OptionModel& OptionModel::needs(const OptionModel& other) {
  needed.push_back(other.long_name);
  return *this;
}

OptionModel& OptionModel::excludes(const OptionModel& other) {
  excluded.push_back(other.long_name);
  return *this;
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
  OptionGroup last{.title = OptionModel{}.group};
  for (const OptionModel& option : options) {
    if (option.is_positional()) continue;
    const auto has_title = [&](const OptionGroup& group) { return group.title == option.group; };
    auto group = std::find_if(groups.begin(), groups.end(), has_title);
    if (group == groups.end() && !has_title(last)) group = groups.insert(group, {.title = option.group, .options = {}});
    (has_title(last) ? last : *group).options.push_back(&option);
  }
  groups.push_back(std::move(last));
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
  constexpr unsigned k_max_width = 100;
  constexpr std::size_t k_option_indent = 30;
  const std::size_t columns = std::clamp(width, 50U, k_max_width);
  std::string out = wrapped(command.summary, 0, columns) + "\n\nUsage: " + command.usage() + '\n';

  const auto positionals = command.positionals();
  if (!positionals.empty()) out += '\n';
  for (const OptionModel* positional : positionals) out += row(positional->title(), positional->text, 9, columns);

  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandModel& child : command.commands) out += row(child.short_name(), child.summary, 14, columns);

  for (const OptionGroup& group : command.groups()) {
    out += '\n' + group.title + ":\n";
    for (const OptionModel* option : group.options) {
      out += row(option->title(), option->text, k_option_indent, columns);
    }
  }
  if (!command.footer.empty()) out += '\n' + command.footer + '\n';
  return out;
}

}  // namespace bale::tools
