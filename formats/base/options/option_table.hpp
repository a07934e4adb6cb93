// OptionTable: the options of a command or function, one row each: name, type, default and unit in one sentence, and
// where the value goes. The command line, its help and Python's keyword arguments are made from it.
//
// Ownership: the values that rows fill must exist when values are taken.
// Threads: as a std::vector.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/options/option_names.hpp"

namespace bale {

/// An option with a value, a flag or a positional argument.
struct OptionModel {
  std::string short_name;  // "-j", may be empty
  std::string long_name;   // "--jobs"; of a positional argument its name: "SRC"
  std::string value_name;  // "N"; "A|B|C" lists all values; empty for a flag
  std::string text;
  /// Takes what was typed: one value, all of them if `repeated`, none if it is a flag. Throws `Error`
  /// (invalid_argument). Without it the parser itself acts: --help and --version.
  std::function<void(const std::vector<std::string>&)> take;
  std::string group = "Options";
  bool repeated = false;              // an option that may be given several times, or an argument of several values
  bool required = false;              // as the usage line shows it
  bool checked_by_command = false;    // required in a way that the parser cannot check
  std::vector<std::string> needed;    // long names of options without which this one means nothing
  std::vector<std::string> excluded;  // long names of options that it cannot be combined with
  std::string type = "str";           // of its value in Python
  std::string tag{};                  // by which the one who added the row knows it

  // Of an option that fills a value directly. The value then is one of the object that the table fills.
  std::function<bool()> is_given{};         // it is not what it was when the row was added
  std::function<Json()> save{};             // the value
  std::function<void(const Json&)> load{};  // the opposite; throws `damaged`
  std::string stored_as{};        // of one that determines bytes: its place in a stored plan, as "edits.quality"
  bool is_fingerprinted = false;  // and a fingerprint has it by its name, if it is given

  /// The name in C++ and Python: "shard_size".
  std::string keyword() const;
  bool is_positional() const { return !long_name.starts_with('-'); }
  bool takes_value() const { return !value_name.empty(); }
  /// "-j, --jobs N", or the name of a positional argument.
  std::string title() const;
  /// The words that `value_name` lists; empty if it lists none. Words in capitals, such as N or DIR, stand for values.
  std::vector<std::string> choices() const;

  OptionModel& needs(const OptionModel& other);
  OptionModel& excludes(const OptionModel& other);
  OptionModel& typed(std::string python_type);
  OptionModel& tagged(std::string word);
  /// The option determines bytes: plans store it and fingerprints have it, both by its keyword.
  OptionModel& determines_bytes();
  /// The same of an older option, whose place in a plan is given; fingerprints have it by hand.
  OptionModel& stored(std::string place);
  /// The option fills `value`.
  template <typename Value>
  OptionModel& fills(Value& value);
};

// How values are stored. For a type of one's own, both functions are declared where it is.
template <typename Number>
requires std::is_arithmetic_v<Number> Json option_to_json(Number value) { return Json(value); }
template <typename Number>
requires std::is_arithmetic_v<Number>
void option_from_json(const Json& json, Number& value) {
  if constexpr (std::is_same_v<Number, bool>) {
    value = json.as_truth("an option");
  } else {
    value = json.as_whole<Number>("an option");
  }
}
template <typename Value>
Json option_to_json(const std::optional<Value>& value) {
  return value ? option_to_json(*value) : Json();
}
template <typename Value>
requires requires(const Json& json, Value& value) { option_from_json(json, value); }
void option_from_json(const Json& json, std::optional<Value>& value) {
  if (json.is_null()) return value.reset();
  option_from_json(json, value.emplace());
}
inline Json option_to_json(const std::string& text) { return bytes_to_json(text); }
inline void option_from_json(const Json& json, std::string& text) { text = json.as_bytes("an option"); }
Json option_to_json(const std::vector<std::string>& texts);
void option_from_json(const Json& json, std::vector<std::string>& texts);

template <typename Value>
constexpr const char* python_type_of() {
  if constexpr (std::is_same_v<Value, bool>) return "bool";
  if constexpr (std::is_integral_v<Value>) return "int";
  return "str";
}
template <typename Value>
struct OptionalValue {
  using type = Value;
};
template <typename Value>
struct OptionalValue<std::optional<Value>> {
  using type = Value;
};

template <typename Value>
OptionModel& OptionModel::fills(Value& value) {
  type = python_type_of<typename OptionalValue<Value>::type>();
  if constexpr (std::equality_comparable<Value>) {
    is_given = [&value, before = value] { return !(value == before); };
  }
  if constexpr (requires { option_from_json(Json(), value); }) {
    save = [&value] { return option_to_json(value); };
    load = [&value](const Json& json) { option_from_json(json, value); };
  }
  return *this;
}

using OptionTable = std::deque<OptionModel>;  // references to rows last

/// The options of a table, with the names that users have.
OptionNames option_names(const OptionTable& table, bool are_flags);

/// Gives the rows from number `begin` on a title in help texts.
void set_group(OptionTable& table, std::size_t begin, const std::string& title);

/// A value that was given for an option: texts, one unless it is repeated; none for a flag.
using GivenOption = std::pair<std::string, std::vector<std::string>>;

/// Takes the values of options by their keywords. Throws `invalid_argument`: if there is no such option; for a value
/// that it cannot have; and if an option is given with one that it excludes, or without one that it needs.
void take_options(const OptionTable& table, const std::vector<GivenOption>& given);

// Adding rows. `names` is "shard_size", with a short name "j,jobs". Chain .needs() and .excludes(), or set further
// members of what is returned.

using TakeText = std::function<void(const std::string& option, const std::string& text)>;

OptionModel& add_flag(OptionTable& table, const std::string& names, std::function<void()> act, const std::string& text);
OptionModel& add_flag(OptionTable& table, const std::string& names, bool& value, const std::string& text);

/// `parse` is called with the option as messages name it, and the value.
OptionModel& add_parsed(OptionTable& table, const std::string& names, const std::string& value_name, TakeText parse,
                        const std::string& text);

/// An option whose value is parsed by a function as those of option_values.hpp.
template <typename Value, typename Parsed>
OptionModel& add_parsed(OptionTable& table, const std::string& names, const std::string& value_name, Value& value,
                        Parsed (*parse)(std::string_view, std::string_view), const std::string& text) {
  return add_parsed(
             table, names, value_name,
             [&value, parse](const std::string& option, const std::string& typed) { value = parse(option, typed); },
             text)
      .fills(value);
}

/// The value is any text but an empty one.
OptionModel& add_text(OptionTable& table, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text);

/// An option that may be given several times, one value each, none of them empty.
OptionModel& add_repeated(OptionTable& table, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text);

/// Of what makes a new version. It may be empty.
void add_message(OptionTable& table, std::string& message);
void add_jobs(OptionTable& table, unsigned& jobs, const std::string& text);
/// The limit of everything that decodes images.
void add_max_pixels(OptionTable& table, std::uint64_t& max_pixels);
/// Of what shows what it did not take or use.
void add_strict(OptionTable& table, bool& strict);

}  // namespace bale
