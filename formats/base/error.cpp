#include "bale/formats/base/error.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/error_reason.hpp"
#include "bale/formats/base/excerpt.hpp"
#include "bale/formats/base/local_name.hpp"
#include "bale/formats/base/utf8.hpp"

namespace bale {
namespace {

// How much of each part a line shows. In a file from elsewhere, a key or a name inside a message may be arbitrarily
// long; the context holds the whole key. The system limits a path to 4,096 bytes.
constexpr std::size_t k_shown_path = 4096;
constexpr std::size_t k_shown_message = 1024;
constexpr std::size_t k_shown_key = 256;

std::string format_error(const std::string& message, const ErrorContext& context) {
  std::string text;
  if (!context.path.empty()) text += excerpt(printable(shown_name(context.path)), k_shown_path) + ": ";
  text += excerpt(message, k_shown_message);
  if (context.system_error != 0) text += fmt::format(": {}", std::strerror(context.system_error));
  const std::string key = excerpt(printable(context.key), k_shown_key);
  if (!key.empty() && context.offset) {
    text += fmt::format(" (key \"{}\", offset {})", key, *context.offset);
  } else if (!key.empty()) {
    text += fmt::format(" (key \"{}\")", key);
  } else if (context.offset) {
    text += fmt::format(" (offset {})", *context.offset);
  }
  if (!context.hint.empty()) text += "; " + excerpt(context.hint, k_shown_message);
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
  return value == EMFILE || value == ENFILE || value == ENOMEM;
}

void throw_errno(std::string_view action, const std::string& path) {
  const int value = errno;
  ErrorContext context{.path = path, .system_error = value};
  if (value == ENOSPC || value == EDQUOT) context.hint = k_no_space_hint;
  const ErrorCode code = value == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::io;
  throw Error(code, fmt::format("cannot {}", action), std::move(context));
}

Error out_of_memory_error(ErrorContext context) {
  if (context.hint.empty()) context.hint = "use fewer workers or jobs, smaller batches, or a machine with more memory";
  return {ErrorCode::out_of_memory, "not enough memory", std::move(context)};
}

std::string shown_name(std::string_view name) {
  const std::size_t end = end_of_first_name(name);
  if (end != std::string_view::npos) return shown_name(name.substr(0, end)) + "::" + shown_name(name.substr(end + 2));
  const std::size_t scheme = name.find("://");
  if (scheme == std::string_view::npos) return std::string(name);
  std::string shown(name.substr(0, name.find('?')));
  const std::size_t host = scheme + 3;
  const std::size_t at = shown.substr(0, shown.find('/', host)).rfind('@');
  if (at != std::string::npos && at >= host) shown.erase(host, at + 1 - host);
  return shown;
}

std::string printable(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t length = utf8_sequence_length(raw.substr(at));
    const auto first = static_cast<unsigned char>(raw[at]);
    const bool c1_control = length == 2 && first == 0xC2 && static_cast<unsigned char>(raw[at + 1]) < 0xA0;
    if (length == 0 || first < 0x20 || first == 0x7F || c1_control) {
      out += fmt::format("\\x{:02x}", first);
      at += 1;
    } else {
      out.append(raw.substr(at, length));
      at += length;
    }
  }
  return out;
}

}  // namespace bale
