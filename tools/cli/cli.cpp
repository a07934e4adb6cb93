#include "bale/tools/cli/cli.hpp"

#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/simd_target.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/tools/cli/grammar.hpp"
#include "bale/tools/cli/parser.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale_version.hpp"

namespace bale::tools {
namespace {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return k_exit_usage;
    case ErrorCode::retryable:
      return k_exit_retryable;
    case ErrorCode::interrupted:
      return k_exit_interrupted;
    default:
      return k_exit_failure;
  }
}

std::vector<std::string> flags_of(const CommandModel& command) {
  std::vector<std::string> flags;
  for (const OptionModel& option : command.options) flags.push_back(option.long_name);
  return flags;
}

/// The error as one line, with options as flags. Paths and keys are unchanged.
std::string line_of(const Error& error, const Terminal& terminal) {
  ErrorContext context = error.context();
  context.hint = terminal.followable(context.hint);
  return Error(error.code(), terminal.with_flags(error.message()), std::move(context)).what();
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

int run(int argc, const char* const* argv, Terminal& terminal) {
  const CommandModel program = bale_grammar();
  Parser parser(program);
  Parser::Wish wish{};
  try {
    wish = parser.parse(argc, argv);
  } catch (const Error& error) {
    terminal.error(fmt::format("{}; see `{} --help`", error.what(), parser.command().name));
    return k_exit_usage;
  }
  const CommandModel& command = parser.command();
  terminal.set_flags(flags_of(command));
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
  const auto fail = [&](int code, std::string_view line) {
    try {
      terminal.flush();  // output that was printed before the error stays before it
    } catch (...) {
      terminal.discard();
    }
    terminal.error(line);
    return code;
  };
  const CacheWarnings warnings(terminal);
  try {
    limit_simd_by_environment();
    return run(argc, argv, terminal);
  } catch (const OutputClosed&) {
    return k_exit_output_closed;
  } catch (const Error& error) {
    return fail(exit_code_of(error.code()), line_of(error, terminal));
  } catch (const std::bad_alloc&) {
    return fail(k_exit_failure, "out of memory");
  } catch (const std::exception& error) {
    return fail(k_exit_failure, printable(error.what()));
  }
}

}  // namespace bale::tools
