#include "bale/formats/base/error.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/key_text.hpp"

namespace bale {
namespace {

constexpr std::array<Verdict, 11> k_verdicts{{
    {ErrorCode::invalid_argument, "invalid_argument", k_exit_usage, "ArgumentError"},
    {ErrorCode::not_found, "not_found", k_exit_failure, "PathNotFoundError"},
    {ErrorCode::io, "io", k_exit_failure, "Error"},
    {ErrorCode::damaged, "damaged", k_exit_failure, "DamagedError"},
    {ErrorCode::unsupported, "unsupported", k_exit_failure, "UnsupportedError"},
    {ErrorCode::exists, "exists", k_exit_failure, "Error"},
    {ErrorCode::changed, "changed", k_exit_failure, "ChangedError"},
    {ErrorCode::removed, "removed", k_exit_failure, "RemovedError"},
    {ErrorCode::retryable, "retryable", k_exit_retryable, "RetryableError"},
    {ErrorCode::interrupted, "interrupted", k_exit_interrupted, "Error"},
    {ErrorCode::out_of_memory, "out_of_memory", k_exit_failure, "OutOfMemoryError"},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < k_verdicts.size(); ++i) {
    if (k_verdicts[i].code != static_cast<ErrorCode>(i)) return false;
  }
  return k_verdicts.back().code == ErrorCode::out_of_memory;
}
static_assert(is_in_order());

}  // namespace

std::span<const Verdict> verdicts() { return k_verdicts; }

const Verdict& verdict_of(ErrorCode code) { return k_verdicts[static_cast<std::size_t>(code)]; }

namespace {

// How much of each part a line shows. In a file from elsewhere, a key or a name inside a message may be arbitrarily
// long; the context holds the whole key.
constexpr std::size_t k_shown_message = 1024;
constexpr std::size_t k_shown_key = 256;

std::string format_error(const std::string& message, const ErrorContext& context) {
  std::string text;
  if (!context.path.empty()) text += shown_name(context.path) + ": ";
  text += excerpt(printable(message), k_shown_message);
  if (context.system_error != 0) text += fmt::format(": {}", std::strerror(context.system_error));
  const std::string key = excerpt(printed_key(context.key), k_shown_key);
  if (!key.empty() && context.offset) {
    text += fmt::format(" (key \"{}\", offset {})", key, *context.offset);
  } else if (!key.empty()) {
    text += fmt::format(" (key \"{}\")", key);
  } else if (context.offset) {
    text += fmt::format(" (offset {})", *context.offset);
  }
  if (!context.hint.empty()) text += "; " + excerpt(printable(context.hint), k_shown_message);
  return text;
}

/// A lack of resources is not about what was being read, so neither is the advice.
ErrorContext with_resource_hint(ErrorContext context) {
  if (context.system_error == EMFILE) context.hint = "raise the limit of open files that `ulimit -Hn` shows";
  if (context.system_error == ENFILE) context.hint = "end programs that hold files open, or raise fs.file-max";
  return context;
}

}  // namespace

Error::Error(ErrorCode code, std::string_view message, ErrorContext context)
    : code_(code),
      message_(message),
      context_(with_resource_hint(std::move(context))),
      text_(format_error(message_, context_)) {}

bool is_lack_of_resources(const Error& error) {
  const int value = error.context().system_error;
  if (error.code() == ErrorCode::retryable || error.code() == ErrorCode::out_of_memory) return true;
  return value == EMFILE || value == ENFILE || value == ENOMEM || error.context().is_of_machine;
}

void throw_mapping_errno(std::string_view action, const std::string& path) {
  if (errno != ENODEV) throw_errno(action, path);
  throw Error(ErrorCode::io, fmt::format("cannot {}", action),
              {.path = path, .hint = "use a file system that can map files into memory", .system_error = ENODEV});
}

void throw_errno(std::string_view action, const std::string& path) {
  const int value = errno;
  ErrorContext context{.path = path, .system_error = value};
  if (is_full_disk(value)) context.hint = k_no_space_hint;
  if (value == EFBIG) context.hint = "write smaller files, raise `ulimit -f`, or use a file system for larger files";
  const ErrorCode code = value == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io;
  throw Error(code, fmt::format("cannot {}", action), std::move(context));
}

Error out_of_memory_error(ErrorContext context) {
  if (context.hint.empty()) context.hint = "use fewer workers or jobs, smaller batches, or a machine with more memory";
  return {ErrorCode::out_of_memory, "not enough memory", std::move(context)};
}

}  // namespace bale
