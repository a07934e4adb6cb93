#include "bale/tools/cli/cli.hpp"

#include <new>
#include <string>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/tools/cli/parser.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

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
  return Json{{"error", std::move(inner)}}.dump({.indent = 2}) + '\n';
}

/// Sets `prints_json` to whether the command was asked for JSON.
int run(int argc, const char* const* argv, bool& prints_json, Terminal& terminal) {
  const CommandModel program = command_line();
  Parser parser(program);
  Parser::Request request{};
  try {
    request = parser.parse(argc, argv);
  } catch (const Error& error) {
    const OptionNames flags = option_names(parser.command().options, true);
    terminal.error(fmt::format("{}; see `{} --help`", flags.shown(error).what(), parser.command().name));
    return k_exit_usage;
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
