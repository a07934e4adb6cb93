// Helpers that declare options. Only grammar*.cpp include this file: it includes the parser library.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "bale/tools/cli/values.hpp"
#include "bale/tools/commands/where_option.hpp"

namespace bale::tools {

inline constexpr const char* k_spec_text =
    "Packed dataset: a directory with a manifest.json, or shard files as a path, a glob ('dir/*'), braces "
    "('x-{000000..000009}.EXT') or several joined by '::'";

using Parse = std::function<void(const std::string&)>;

CLI::Option* add_parsed(CLI::App& app, const std::string& names, const std::string& value_name, Parse parse,
                        const std::string& text);

/// An option whose value is parsed by a function of values.hpp.
template <typename Value, typename Parsed>
CLI::Option* add_parsed(CLI::App& app, const std::string& names, const std::string& value_name, Value& value,
                        Parsed (*parse)(std::string_view, std::string_view), const std::string& text) {
  const std::string name = names.substr(names.find("--"));
  return add_parsed(
      app, names, value_name, [&value, parse, name](const std::string& typed) { value = parse(name, typed); }, text);
}

CLI::Option* add_text(CLI::App& app, const std::string& names, const std::string& value_name, std::string& value,
                      const std::string& text);

/// An option that may be given several times, one value each.
CLI::Option* add_repeated(CLI::App& app, const std::string& names, const std::string& value_name,
                          std::vector<std::string>& values, const std::string& text);

void add_sidecars(CLI::App& app, std::vector<std::string>& names);
void add_jobs(CLI::App& app, unsigned& jobs, const std::string& text);
/// --max-pixels, the limit of every command that decodes images.
void add_max_pixels(CLI::App& app, std::uint64_t& max_pixels);
void add_spec(CLI::App& app, std::string& spec);
/// --where, a condition on samples.
void add_where(CLI::App& app, WhereOption& where);
/// --key and --class, globs.
void add_where_globs(CLI::App& app, WhereOption& where);
void add_json(CLI::App& app, bool& json, const std::string& text = "Print JSON instead of text");
void add_quiet(CLI::App& app, bool& quiet,
               const std::string& text = "No progress and no summary; warnings and errors only");
/// Call after add_quiet(): --json-progress excludes --quiet.
void add_json_progress(CLI::App& app, bool& json_progress);

/// --cache-dir and --cache-limit, for commands that may read remote files: BALE_CACHE_DIR and BALE_CACHE_LIMIT of this run
/// and of the processes that it starts.
void add_cache_options(CLI::App& app);

}  // namespace bale::tools
