#include "bale/formats/base/options/option_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"

namespace bale {
namespace {

/// "shard_size" as a flag; names of positional arguments are in capitals.
std::string flag_of(std::string name) {
  if (name.empty() || name[0] < 'a') return name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

OptionModel& added_option(OptionTable& table, const std::string& names, const std::string& value_name,
                          const std::string& text) {
  const std::size_t comma = names.find(',');
  OptionModel option{.long_name = flag_of(names.substr(comma + 1)), .value_name = value_name, .text = text};
  if (comma != std::string::npos) option.short_name = (names.starts_with('-') ? "" : "-") + names.substr(0, comma);
  table.push_back(std::move(option));
  return table.back();
}

/// "`shard_size`": OptionNames makes it what the user has.
std::string in_messages(const OptionModel& option) { return '`' + option.keyword() + '`'; }

bool has_option(const std::vector<GivenOption>& given, const OptionTable& table, const std::string& long_name) {
  return std::any_of(given.begin(), given.end(), [&](const GivenOption& one) {
    return std::any_of(table.begin(), table.end(), [&](const OptionModel& option) {
      return option.long_name == long_name && option.keyword() == one.first;
    });
  });
}

void require_fitting(const OptionModel& option, const OptionTable& table, const std::vector<GivenOption>& given) {
  const auto named = [](const std::string& long_name) { return in_messages({.long_name = long_name}); };
  for (const std::string& other : option.needed) {
    if (has_option(given, table, other)) continue;
    throw Error(ErrorCode::invalid_argument, fmt::format("{} requires {}", in_messages(option), named(other)));
  }
  for (const std::string& other : option.excluded) {
    if (!has_option(given, table, other)) continue;
    throw Error(ErrorCode::invalid_argument, fmt::format("{} excludes {}", in_messages(option), named(other)));
  }
}

}  // namespace

std::string OptionModel::keyword() const {
  std::string name = long_name.starts_with("--") ? long_name.substr(2) : long_name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

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

OptionModel& OptionModel::typed(std::string python_type) {
  type = std::move(python_type);
  return *this;
}

OptionModel& OptionModel::tagged(std::string word) {
  tag = std::move(word);
  return *this;
}

OptionModel& OptionModel::determines_bytes() {
  is_fingerprinted = true;
  return stored(keyword());
}

OptionModel& OptionModel::stored(std::string place) {
  stored_as = std::move(place);
  return *this;
}

Json option_to_json(const std::vector<std::string>& texts) { return bytes_list_to_json(texts); }

void option_from_json(const Json& json, std::vector<std::string>& texts) {
  texts.clear();
  for (const Json& text : json.as_list("an option")) texts.push_back(text.as_bytes("an option"));
}

void set_group(OptionTable& table, std::size_t begin, const std::string& title) {
  for (std::size_t i = begin; i < table.size(); ++i) table[i].group = title;
}

OptionNames option_names(const OptionTable& table, bool are_flags) {
  OptionNames names{.are_flags = are_flags};
  for (const OptionModel& option : table) names.names.push_back(option.keyword());
  return names;
}

void take_options(const OptionTable& table, const std::vector<GivenOption>& given) {
  for (const auto& [name, values] : given) {
    const auto option = std::find_if(table.begin(), table.end(), [&wanted = name](const OptionModel& one) {
      return one.take && one.keyword() == wanted;
    });
    if (option == table.end()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("there is no option {}", printable(name)));
    }
    const std::size_t most = option->takes_value() ? 1 : 0;
    if (values.size() != most && !(option->repeated && !values.empty())) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} takes {}", in_messages(*option), most == 0 ? "True or False" : "one value"));
    }
    option->take(values);
    require_fitting(*option, table, given);
  }
}

OptionModel& add_flag(OptionTable& table, const std::string& names, std::function<void()> act,
                      const std::string& text) {
  OptionModel& option = added_option(table, names, "", text);
  option.take = [act = std::move(act)](const std::vector<std::string>&) { act(); };
  return option.typed("bool");
}

OptionModel& add_flag(OptionTable& table, const std::string& names, bool& value, const std::string& text) {
  return add_flag(
             table, names, [&value] { value = true; }, text)
      .fills(value);
}

OptionModel& add_parsed(OptionTable& table, const std::string& names, const std::string& value_name, TakeText parse,
                        const std::string& text) {
  OptionModel& option = added_option(table, names, value_name, text);
  option.take = [parse = std::move(parse), name = in_messages(option)](const std::vector<std::string>& typed) {
    parse(name, typed.front());
  };
  return option;
}

OptionModel& add_text(OptionTable& table, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text) {
  return add_parsed(
             table, names, value_name,
             [&value](const std::string& option, const std::string& typed) {
               require_value(option, typed);
               value = typed;
             },
             text)
      .fills(value);
}

OptionModel& add_repeated(OptionTable& table, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text) {
  OptionModel& option = added_option(table, names, value_name, text);
  option.repeated = true;
  option.take = [&values, name = in_messages(option)](const std::vector<std::string>& typed) {
    for (const std::string& value : typed) require_value(name, value);
    values = typed;
  };
  return option.fills(values).typed("Union[str, Sequence[str]]");
}

void add_message(OptionTable& table, std::string& message) {
  add_parsed(
      table, "m,message", "TEXT", [&message](const std::string&, const std::string& typed) { message = typed; },
      "What `bale log` says of the new version")
      .fills(message);
}

void add_jobs(OptionTable& table, unsigned& jobs, const std::string& text) {
  add_parsed(table, "j,jobs", "N|auto", jobs, parse_jobs, text).typed("Union[int, Literal[\"auto\"]]");
}

void add_max_pixels(OptionTable& table, std::uint64_t& max_pixels) {
  add_parsed(table, "max_pixels", "N", max_pixels, parse_positive,
             fmt::format("Refuse to decode images of more than N pixels (default: {})", max_pixels));
}

void add_strict(OptionTable& table, bool& strict) {
  add_flag(table, "strict", strict,
           "Fail, before anything is written, if something is ignored, a pattern matches nothing, or an option has no "
           "effect");
}

}  // namespace bale
