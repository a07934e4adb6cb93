// OptionTable: the options of a command or function, one row each: name, type, default and unit in one sentence, and
// where the value goes. The command line, its help and Python's keyword arguments are made from it.
//
// Ownership: the values that rows fill must exist when values are taken.
// Threads: as a std::vector.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
};

using OptionTable = std::deque<OptionModel>;  // references to rows last

/// The options of a table, with the names that users have.
OptionNames option_names(const OptionTable& table, bool are_flags);

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
      [&value, parse](const std::string& option, const std::string& typed) { value = parse(option, typed); }, text);
}

OptionModel& add_text(OptionTable& table, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text);

/// The name of a file or directory to write. An empty one, as of a shell variable that is not set, is refused.
OptionModel& add_output(OptionTable& table, const std::string& names, const std::string& value_name, std::string& path,
                        const std::string& text);

/// An option that may be given several times, one value each.
OptionModel& add_repeated(OptionTable& table, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text);

void add_jobs(OptionTable& table, unsigned& jobs, const std::string& text);
/// The limit of everything that decodes images.
void add_max_pixels(OptionTable& table, std::uint64_t& max_pixels);
/// Of what shows what it did not take or use.
void add_strict(OptionTable& table, bool& strict);

}  // namespace bale
