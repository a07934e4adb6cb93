#include "bale/tools/cli/options/options.hpp"

#include <cstdlib>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"

namespace bale::tools {

OptionModel& add_positional(CommandModel& app, const std::string& name, std::string& value, const std::string& text) {
  OptionModel& option = add_text(app.options, name, name, value, text);
  option.required = true;
  return option;
}

OptionModel& add_positional(CommandModel& app, const std::string& name, std::vector<std::string>& values,
                            const std::string& text) {
  OptionModel& option = add_repeated(app.options, name, name, values, text);
  option.required = true;
  return option;
}

void add_spec(CommandModel& app, std::string& spec) { add_positional(app, "SPEC", spec, k_spec_text); }

void add_where_globs(CommandModel& app, WhereOption& where) {
  add_repeated(app.options, "--key", "GLOB", where.keys, "Only samples whose key matches; may be repeated");
  add_repeated(app.options, "--class", "GLOB", where.classes, "Only samples whose class name matches; may be repeated");
}

void add_json(CommandModel& app, bool& json, const std::string& text) { add_flag(app.options, "--json", json, text); }

void add_quiet(CommandModel& app, bool& quiet, const std::string& text) {
  add_flag(app.options, "-q,--quiet", quiet, text);
}

void add_cache_options(CommandModel& app) {
  constexpr const char* k_group = "Cache of remote files";
  add_parsed(
      app.options, "--cache-dir", "DIR|none",
      [](const std::string& option, const std::string& text) {
        require_value(option, text);
        ::setenv("BALE_CACHE_DIR", text.c_str(), 1);
      },
      "Directory of the cache, or none (default: BALE_CACHE_DIR, else ~/.cache/bale)")
      .group = k_group;
  add_parsed(
      app.options, "--cache-limit", "SIZE",
      [](const std::string& option, const std::string& text) {
        parse_size(option, text);
        ::setenv("BALE_CACHE_LIMIT", text.c_str(), 1);
      },
      "Most bytes that the cache may take (default: BALE_CACHE_LIMIT, else 9/10 of what is free)")
      .group = k_group;
}

void add_json_progress(CommandModel& app, bool& json_progress) {
  add_flag(app.options, "--json-progress", json_progress,
           "Progress for programs: JSON objects on standard error, one per line; a total of 0 is unknown")
      .excluded = {"--quiet"};
}

void show_flags(CommandModel& app) {
  const OptionNames flags = option_names(app.options, true);
  for (OptionModel& option : app.options) option.text = flags.shown(option.text);
}

}  // namespace bale::tools
