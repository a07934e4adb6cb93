#include "bale/tools/cli/options/grammar_options.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/core.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/cli/options/values.hpp"
#include "bale/writer/plan/sidecars.hpp"

namespace bale::tools {
namespace {

OptionModel option_of(const std::string& names, const std::string& value_name, const std::string& text) {
  const std::size_t comma = names.find(',');
  OptionModel option{.long_name = names.substr(comma + 1), .value_name = value_name, .text = text};
  if (comma != std::string::npos) option.short_name = names.substr(0, comma);
  return option;
}

OptionModel& added(CommandModel& app, OptionModel option) {
  app.options.push_back(std::move(option));
  return app.options.back();
}

}  // namespace

OptionModel& add_positional(CommandModel& app, const std::string& name, std::string& value, const std::string& text) {
  OptionModel& option = add_text(app, name, name, value, text);
  option.required = true;
  return option;
}

OptionModel& add_positional(CommandModel& app, const std::string& name, std::vector<std::string>& values,
                            const std::string& text) {
  OptionModel& option = add_repeated(app, name, name, values, text);
  option.required = true;
  return option;
}

OptionModel& add_flag(CommandModel& app, const std::string& names, std::function<void()> act, const std::string& text) {
  OptionModel& option = added(app, option_of(names, "", text));
  option.take = [act = std::move(act)](const std::vector<std::string>&) { act(); };
  return option;
}

OptionModel& add_flag(CommandModel& app, const std::string& names, bool& value, const std::string& text) {
  return add_flag(
      app, names, [&value] { value = true; }, text);
}

OptionModel& add_parsed(CommandModel& app, const std::string& names, const std::string& value_name, Parse parse,
                        const std::string& text) {
  OptionModel& option = added(app, option_of(names, value_name, text));
  option.take = [parse = std::move(parse)](const std::vector<std::string>& typed) { parse(typed.front()); };
  return option;
}

OptionModel& add_text(CommandModel& app, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text) {
  return add_parsed(
      app, names, value_name, [&value](const std::string& typed) { value = typed; }, text);
}

OptionModel& add_output(CommandModel& app, const std::string& names, const std::string& value_name, std::string& path,
                        const std::string& text) {
  const std::string name = names.substr(names.find("--"));
  return add_parsed(
      app, names, value_name,
      [&path, name](const std::string& typed) {
        if (typed.empty()) throw Error(ErrorCode::invalid_argument, name + ": the name is empty");
        path = typed;
      },
      text);
}

OptionModel& add_repeated(CommandModel& app, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text) {
  OptionModel& option = added(app, option_of(names, value_name, text));
  option.repeated = true;
  option.take = [&values](const std::vector<std::string>& typed) { values = typed; };
  return option;
}

void add_jobs(CommandModel& app, unsigned& jobs, const std::string& text) {
  add_parsed(app, "-j,--jobs", "N|auto", jobs, parse_jobs, text);
}

void add_max_pixels(CommandModel& app, std::uint64_t& max_pixels) {
  add_parsed(app, "--max-pixels", "N", max_pixels, parse_positive,
             fmt::format("Refuse to decode images of more than N pixels (default: {})", max_pixels));
}

void add_sidecars(CommandModel& app, std::vector<std::string>& names) {
  add_parsed(app, "--sidecars", "NAME,...", names, parse_list,
             "Also write index files for other readers: " + sidecar_choices());
}

void add_spec(CommandModel& app, std::string& spec) { add_positional(app, "SPEC", spec, k_spec_text); }

void add_where(CommandModel& app, WhereOption& where) {
  add_parsed(
      app, "--where", "CONDITION",
      [&where](const std::string& typed) {
        if (typed.empty()) throw Error(ErrorCode::invalid_argument, "--where: the condition is empty");
        where.text = typed;
      },
      "Only samples for which the condition holds, such as \"width >= 256 and label in (3, 5)\"; names: " +
          where_names());
}

void add_where_globs(CommandModel& app, WhereOption& where) {
  add_repeated(app, "--key", "GLOB", where.keys, "Only samples whose key matches; may be repeated");
  add_repeated(app, "--class", "GLOB", where.classes, "Only samples whose class name matches; may be repeated");
}

void add_json(CommandModel& app, bool& json, const std::string& text) { add_flag(app, "--json", json, text); }

void add_quiet(CommandModel& app, bool& quiet, const std::string& text) { add_flag(app, "-q,--quiet", quiet, text); }

void add_strict(CommandModel& app, bool& strict) {
  add_flag(app, "--strict", strict,
           "Fail, before anything is written, if something is ignored, a pattern matches nothing, or an option has no "
           "effect");
}

void add_cache_options(CommandModel& app) {
  constexpr const char* k_group = "Cache of remote files";
  add_parsed(
      app, "--cache-dir", "DIR|none", [](const std::string& text) { ::setenv("BALE_CACHE_DIR", text.c_str(), 1); },
      "Directory of the cache, or none (default: BALE_CACHE_DIR, else ~/.cache/bale)")
      .group = k_group;
  add_parsed(
      app, "--cache-limit", "SIZE",
      [](const std::string& text) {
        parse_size("--cache-limit", text);
        ::setenv("BALE_CACHE_LIMIT", text.c_str(), 1);
      },
      "Most bytes that the cache may take (default: BALE_CACHE_LIMIT, else 9/10 of what is free)")
      .group = k_group;
}

void add_json_progress(CommandModel& app, bool& json_progress) {
  add_flag(app, "--json-progress", json_progress,
           "Progress for programs: JSON objects on standard error, one per line; a total of 0 is unknown")
      .excluded = {"--quiet"};
}

}  // namespace bale::tools
