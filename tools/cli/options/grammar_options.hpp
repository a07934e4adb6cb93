// Functions that add options to a command's grammar. The values that they fill must exist when the command line is
// parsed.
//
// `names` is "--jobs" or "-j,--jobs". Chain .needs() and .excludes(), or set further members of what is returned.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

inline constexpr const char* k_spec_text =
    "Packed dataset: a directory with a manifest.json, or shard files as a path, a glob ('dir/*'), braces "
    "('x-{000000..000009}.EXT') or several joined by '::'";

using Parse = std::function<void(const std::string&)>;

/// A required positional argument.
OptionModel& add_positional(CommandModel& app, const std::string& name, std::string& value, const std::string& text);
/// The rest of the arguments, at least one.
OptionModel& add_positional(CommandModel& app, const std::string& name, std::vector<std::string>& values,
                            const std::string& text);

OptionModel& add_flag(CommandModel& app, const std::string& names, std::function<void()> act, const std::string& text);
OptionModel& add_flag(CommandModel& app, const std::string& names, bool& value, const std::string& text);

OptionModel& add_parsed(CommandModel& app, const std::string& names, const std::string& value_name, Parse parse,
                        const std::string& text);

/// An option whose value is parsed by a function of values.hpp.
template <typename Value, typename Parsed>
OptionModel& add_parsed(CommandModel& app, const std::string& names, const std::string& value_name, Value& value,
                        Parsed (*parse)(std::string_view, std::string_view), const std::string& text) {
  const std::string name = names.substr(names.find("--"));
  return add_parsed(
      app, names, value_name, [&value, parse, name](const std::string& typed) { value = parse(name, typed); }, text);
}

OptionModel& add_text(CommandModel& app, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text);

/// The name of a file or directory to write. An empty one, as of a shell variable that is not set, is refused.
OptionModel& add_output(CommandModel& app, const std::string& names, const std::string& value_name, std::string& path,
                        const std::string& text);

/// An option that may be given several times, one value each.
OptionModel& add_repeated(CommandModel& app, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text);

void add_sidecars(CommandModel& app, std::vector<std::string>& names);
void add_jobs(CommandModel& app, unsigned& jobs, const std::string& text);
/// --max-pixels, the limit of every command that decodes images.
void add_max_pixels(CommandModel& app, std::uint64_t& max_pixels);
void add_spec(CommandModel& app, std::string& spec);
/// --where, a condition on samples.
void add_where(CommandModel& app, WhereOption& where);
/// --key and --class, globs.
void add_where_globs(CommandModel& app, WhereOption& where);
void add_json(CommandModel& app, bool& json, const std::string& text = "Print JSON instead of text");
void add_quiet(CommandModel& app, bool& quiet,
               const std::string& text = "No progress and no summary; warnings and errors only");
/// --strict, of commands that show what they did not take or use.
void add_strict(CommandModel& app, bool& strict);
/// Of a command with --quiet, which --json-progress excludes.
void add_json_progress(CommandModel& app, bool& json_progress);

/// --cache-dir and --cache-limit, for commands that may read remote files: BALE_CACHE_DIR and BALE_CACHE_LIMIT of this
/// run and of the processes that it starts.
void add_cache_options(CommandModel& app);

}  // namespace bale::tools
