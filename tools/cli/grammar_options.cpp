#include "bale/tools/cli/grammar_options.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "bale/writer/sidecars.hpp"

namespace bale::tools {

CLI::Option* add_parsed(CLI::App& app, const std::string& names, const std::string& value_name, Parse parse,
                        const std::string& text) {
  return app.add_option_function<std::string>(names, std::move(parse), text)->type_name(value_name);
}

CLI::Option* add_text(CLI::App& app, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text) {
  return app.add_option(names, value, text)->type_name(value_name);
}

CLI::Option* add_repeated(CLI::App& app, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text) {
  return app.add_option(names, values, text)->type_name(value_name)->allow_extra_args(false);
}

void add_jobs(CLI::App& app, unsigned& jobs, const std::string& text) {
  add_parsed(app, "-j,--jobs", "N|auto", jobs, parse_jobs, text);
}

void add_max_pixels(CLI::App& app, std::uint64_t& max_pixels) {
  add_parsed(app, "--max-pixels", "N", max_pixels, parse_positive,
             fmt::format("Refuse to decode images of more than N pixels (default: {})", max_pixels));
}

void add_sidecars(CLI::App& app, std::vector<std::string>& names) {
  add_parsed(app, "--sidecars", "NAME,...", names, parse_list,
             "Write what other readers look for beside the shards, by their names: " + sidecar_choices());
}

void add_spec(CLI::App& app, std::string& spec) { app.add_option("SPEC", spec, k_spec_text)->required(); }

void add_where(CLI::App& app, WhereOption& where) {
  add_text(app, "--where", "CONDITION", where.text,
           "Only samples for which the condition holds, such as \"width >= 256 and label in (3, 5)\"; names: " +
               where_names())
      ->check([](const std::string& text) {
        return text.empty() ? std::string{"--where: the condition is empty"} : std::string{};
      });
}

void add_where_globs(CLI::App& app, WhereOption& where) {
  add_repeated(app, "--key", "GLOB", where.keys, "Only samples whose key matches; may be repeated");
  add_repeated(app, "--class", "GLOB", where.classes, "Only samples whose class name matches; may be repeated");
}

void add_json(CLI::App& app, bool& json, const std::string& text) { app.add_flag("--json", json, text); }

void add_quiet(CLI::App& app, bool& quiet, const std::string& text) { app.add_flag("-q,--quiet", quiet, text); }

void add_cache_options(CLI::App& app) {
  constexpr const char* k_group = "Cache of remote files";
  add_parsed(
      app, "--cache-dir", "DIR|none", [](const std::string& text) { ::setenv("BALE_CACHE_DIR", text.c_str(), 1); },
      "Directory of the cache, or none (default: BALE_CACHE_DIR, else ~/.cache/bale)")
      ->group(k_group);
  add_parsed(
      app, "--cache-limit", "SIZE",
      [](const std::string& text) {
        parse_size("--cache-limit", text);
        ::setenv("BALE_CACHE_LIMIT", text.c_str(), 1);
      },
      "Most bytes that the cache may take (default: BALE_CACHE_LIMIT, else 9/10 of what is free)")
      ->group(k_group);
}

void add_json_progress(CLI::App& app, bool& json_progress) {
  app.add_flag("--json-progress", json_progress,
               "Progress for programs: JSON objects on standard error, one per line; a total of 0 is unknown")
      ->excludes(app.get_option("--quiet"));
}

}  // namespace bale::tools
