// The only unit that includes the parser library.
#include "bale/tools/cli/cli.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/tools/help/command_model.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

std::vector<std::string> names_of_options(const CommandModel& command) {
  std::vector<std::string> names;
  for (const OptionModel& option : command.options) {
    if (!option.is_positional()) names.push_back(option.long_name);
  }
  return names;
}

/// The error of a command line in which no command was found.
std::string missing_command(int argc, const char* const* argv, const CommandModel& program) {
  if (argc < 2) return "a command is needed";
  const std::string word = argv[1];
  if (word.starts_with('-')) {
    return fmt::format("\"{}\" is not an option of bale itself{}", printable(word),
                       suggestion(word, names_of_options(program)));
  }
  std::vector<std::string> names;
  for (const CommandModel& command : program.commands) names.push_back(command.short_name());
  return fmt::format("there is no command \"{}\"{}", printable(word), suggestion(word, names));
}

/// What was meant by the first option among `words`, which the command does not have: an option, or a name.
std::string meant_option(const std::vector<std::string>& words, const CommandModel& command) {
  const std::vector<std::string> names = names_of_options(command);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with('-')) continue;
    if (name.find('/') != std::string::npos || name_is_taken(name)) return "; write -- before names that begin with -";
    return std::find(names.begin(), names.end(), name) == names.end() ? suggestion(name, names) : std::string{};
  }
  return {};
}

std::string parser_names(const OptionModel& option) {
  return option.short_name.empty() ? option.long_name : option.short_name + ',' + option.long_name;
}

CLI::Option* added_option(CLI::App& app, const OptionModel& option) {
  const auto& take = option.take;
  const std::string names = parser_names(option);
  if (!option.takes_value()) {
    return app.add_flag_callback(names, [take] { take({}); })->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  CLI::Option* added =
      option.repeated ? app.add_option_function<std::vector<std::string>>(names, take)
                      : app.add_option_function<std::string>(names, [take](const std::string& text) { take({text}); });
  if (!option.is_positional()) added->allow_extra_args(false);
  added->required(option.required && !option.checked_by_command);
  return added->type_name(option.value_name);
}

void add_options(CLI::App& app, const CommandModel& command) {
  std::map<std::string, CLI::Option*> added;
  for (const OptionModel& option : command.options) {
    if (option.take) added[option.long_name] = added_option(app, option);
  }
  for (const OptionModel& option : command.options) {
    for (const std::string& name : option.needed) added.at(option.long_name)->needs(added.at(name));
    for (const std::string& name : option.excluded) added.at(option.long_name)->excludes(added.at(name));
  }
}

/// Whether `word` names an option of the command that takes a value.
bool names_option_with_value(const CommandModel& command, std::string_view word) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const OptionModel& option) {
    return !option.is_positional() && option.takes_value() && (word == option.long_name || word == option.short_name);
  });
}

/// The words after the program's name, last first, as the parser library takes them. That library gives an option the
/// next word if nothing follows its "=": in `--message= --dry-run` the empty value gets a word of its own.
std::vector<std::string> reversed_words(std::span<const char* const> words, const CommandModel& program) {
  std::vector<std::string> result;
  const auto command = std::find_if(program.commands.begin(), program.commands.end(), [&](const CommandModel& one) {
    return words.size() > 1 && one.short_name() == words[1];
  });
  bool is_value = false;
  bool ends_options = command == program.commands.end();
  for (const std::string word : words.subspan(std::min<std::size_t>(words.size(), 1))) {
    ends_options = ends_options || (word == "--" && !is_value);
    const std::string name = word.substr(0, word.find('='));
    const bool is_empty = !ends_options && !is_value && word.starts_with("--") && word == name + '=' &&
                          names_option_with_value(*command, name);
    is_value = !ends_options && !is_value && !is_empty && names_option_with_value(*command, word);
    result.push_back(is_empty ? name : word);
    if (is_empty) result.emplace_back();
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// Parses a command line.
class Parser {
 public:
  enum class Request { run, help, short_help, version };

  /// `program` must outlive this object.
  explicit Parser(const CommandModel& program);

  /// Gives the options their values. Call once. Throws `Error` (invalid_argument) for an invalid command
  /// line.
  Request parse(int argc, const char* const* argv);

  /// The command that parse() found, even if it failed after that; the program itself if it found none.
  const CommandModel& command() const;
  /// Whether the command line has an option of the command. Call it after parse().
  bool was_given(const std::string& long_name) const;

 private:
  const CommandModel& program_;
  CLI::App app_;
};

Parser::Parser(const CommandModel& program) : program_(program) {
  app_.name(program.name);
  app_.set_help_flag("--help");
  app_.set_help_all_flag("-h");
  app_.set_version_flag("-V,--version");
  app_.require_subcommand(1);
  for (const CommandModel& command : program.commands) {
    if (command.run) add_options(*app_.add_subcommand(command.short_name()), command);
  }
}

Parser::Request Parser::parse(int argc, const char* const* argv) {
  try {
    app_.parse(reversed_words(std::span(argv, static_cast<std::size_t>(argc)), program_));
    return Request::run;
  } catch (const CLI::CallForHelp&) {
    return Request::help;
  } catch (const CLI::CallForAllHelp&) {
    return Request::short_help;
  } catch (const CLI::CallForVersion&) {
    return Request::version;
  } catch (const CLI::ParseError& error) {
    if (app_.get_subcommands().empty()) {
      throw Error(ErrorCode::invalid_argument, missing_command(argc, argv, program_));
    }
    const std::string_view what = error.what();
    if (const auto end = what.find(": At Most 1 required"); end != std::string_view::npos) {
      throw Error(ErrorCode::invalid_argument, printable(what.substr(0, end)) + ": given more than once; give it once");
    }
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    throw Error(ErrorCode::invalid_argument,
                printable(error.what()) + (is_extra ? meant_option(app_.remaining(true), command()) : std::string{}));
  }
}

const CommandModel& Parser::command() const {
  const auto named = app_.get_subcommands();
  if (!named.empty()) {
    for (const CommandModel& command : program_.commands) {
      if (command.short_name() == named.front()->get_name()) return command;
    }
  }
  return program_;
}

bool Parser::was_given(const std::string& long_name) const {
  const auto named = app_.get_subcommands();
  const CLI::Option* const option = named.empty() ? nullptr : named.front()->get_option_no_throw(long_name);
  return option != nullptr && option->count() > 0;
}

/// Shows what is wrong with the cache of remote files while it lives.
class CacheWarnings {
 public:
  explicit CacheWarnings(Terminal& terminal) {
    set_cache_warning_handler([&terminal](const std::string& line) { terminal.error("warning: " + line); });
  }
  ~CacheWarnings() { set_cache_warning_handler(nullptr); }
  CacheWarnings(const CacheWarnings&) = delete;
  CacheWarnings& operator=(const CacheWarnings&) = delete;
};

/// What a command with --json prints if it fails: {"error": {"code": ..., "message": ...}}, with path, key, offset,
/// hint and errno if they are known.
std::string error_json(const Error& error) {
  const ErrorContext& context = error.context();
  Json inner{{"code", error_code_name(error.code())}, {"message", error.what()}};
  if (!context.path.empty()) inner["path"] = bytes_to_json(shown_name(context.path));
  if (!context.key.empty()) inner["key"] = bytes_to_json(context.key);
  if (context.offset) inner["offset"] = *context.offset;
  if (!context.hint.empty()) inner["hint"] = printable(context.hint);
  if (context.system_error != 0) inner["errno"] = context.system_error;
  return Json{{"error", std::move(inner)}}.dump({}) + '\n';  // a line, as `bale ls --json` prints
}

/// Sets `prints_json` to whether the command was asked for JSON.
int run(int argc, const char* const* argv, bool& prints_json, Terminal& terminal) {
  const CommandModel program = command_line(std::span(argv, static_cast<std::size_t>(argc)));
  Parser parser(program);
  Parser::Request request{};
  try {
    request = parser.parse(argc, argv);
  } catch (const Error& error) {
    prints_json = parser.was_given("--json");
    terminal.set_options(option_names(parser.command().options, true));
    ErrorContext context = error.context();
    context.hint += fmt::format("{}see `{} --help`", context.hint.empty() ? "" : "; ", parser.command().name);
    throw Error(error.code(), error.message(), std::move(context));
  }
  prints_json = parser.was_given("--json");
  const CommandModel& command = parser.command();
  terminal.set_options(option_names(command.options, true));
  int code = k_exit_ok;
  if (request == Parser::Request::help) {
    terminal.print(help_text(command, terminal.out_width()));
  } else if (request == Parser::Request::short_help) {
    terminal.print(short_help_text(command, terminal.out_width()));
  } else if (request == Parser::Request::version) {
    terminal.print(fmt::format("bale {}\n", version()));
  } else {
    code = command.run(terminal);
  }
  terminal.flush();
  return code;
}

}  // namespace

int bale_main(int argc, const char* const* argv, Terminal& terminal) {
  bool prints_json = false;
  const auto fail = [&](const Error& raw) {
    const Error error = terminal.options().shown(raw);
    try {
      if (prints_json && !terminal.has_printed()) terminal.print(error_json(error));  // one document
      terminal.flush();  // output that was printed before the error stays before it
    } catch (...) {
      terminal.discard();
    }
    terminal.error(error.what());
    return verdict_of(error.code()).exit_code;
  };
  const CacheWarnings warnings(terminal);
  try {
    limit_simd_by_environment();
    return run(argc, argv, prints_json, terminal);
  } catch (const OutputClosed&) {
    return k_exit_output_closed;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory_error());
  } catch (const std::exception& error) {
    return fail(Error(ErrorCode::io, printable(error.what())));
  }
}

int run_program(int argc, const char* const* argv) {
  prepare_process();
  raise_descriptor_limit();
  Terminal terminal(STDOUT_FILENO, STDERR_FILENO);
  return bale_main(argc, argv, terminal);
}

}  // namespace bale::tools
