#include "bale/tools/cli/cli.hpp"

#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/tools/cli/error_json.hpp"
#include "bale/tools/cli/grammar.hpp"
#include "bale/tools/cli/parser.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale_version.hpp"

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

/// Sets `prints_json` to whether the command was asked for JSON.
int run(int argc, const char* const* argv, bool& prints_json, Terminal& terminal) {
  const CommandModel program = bale_grammar();
  Parser parser(program);
  Parser::Wish wish{};
  try {
    wish = parser.parse(argc, argv);
  } catch (const Error& error) {
    const OptionNames flags = option_names(parser.command().options, true);
    terminal.error(fmt::format("{}; see `{} --help`", flags.shown(error).what(), parser.command().name));
    return k_exit_usage;
  }
  prints_json = parser.was_given("--json");
  const CommandModel& command = parser.command();
  terminal.set_options(option_names(command.options, true));
  int code = k_exit_ok;
  if (wish == Parser::Wish::help) {
    terminal.print(help_text(command, terminal.out_width()));
  } else if (wish == Parser::Wish::short_help) {
    terminal.print(short_help_text(command, terminal.out_width()));
  } else if (wish == Parser::Wish::version) {
    terminal.print(fmt::format("bale {}\n", k_version_text));
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

}  // namespace bale::tools
