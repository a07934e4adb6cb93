// The one exception type of the libraries.
//
// Every room throws `bale::Error`; only tools/, python/ and worker mains catch it. Libraries never print
// and never abort. `what()` is one line: WHERE: WHAT (key ..., offset ...); WHAT TO DO.
// Bytes that a terminal would act upon (control bytes, invalid UTF-8) are escaped as \xNN in it.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace bale {

enum class ErrorCode {
  invalid_argument,  // the caller asked for something that makes no sense (exit 2)
  not_found,         // a path, shard, key or field that is not there
  io,                // the operating system refused; errno text is in the message
  damaged,           // bytes that contradict their checksum, index or format (verify: exit 3)
  unsupported,       // well-formed, but nothing we read or write
  exists,            // a destination that holds something already
  changed,           // a source that changed while it was read
  retryable,         // may go through when tried again (exit 5)
  interrupted,       // the caller's stop request was honoured (exit 130)
};

/// Where an error happened and what to do about it; every part is optional.
struct ErrorContext {
  std::string path{};                     // file or directory, as raw bytes
  std::string key{};                      // sample key, as raw bytes
  std::optional<std::uint64_t> offset{};  // byte offset in `path`
  std::string hint{};                     // what to do, a short imperative clause
  int system_error = 0;                   // an errno value; its text is added to the message
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string_view message, ErrorContext context = {});

  const char* what() const noexcept override { return text_.c_str(); }
  ErrorCode code() const noexcept { return code_; }
  const ErrorContext& context() const noexcept { return context_; }
  /// The message alone, without place and hint.
  const std::string& message() const noexcept { return message_; }

 private:
  ErrorCode code_;
  std::string message_;
  ErrorContext context_;
  std::string text_;
};

/// Whether the process lacks something (descriptors, memory), whatever it was reading: no file and no sample is to
/// blame, and to go on without it would lose good ones by the thousand.
bool is_lack_of_resources(const Error& error);

/// Throws `ErrorCode::io` for the current `errno`: "PATH: cannot ACTION: strerror".
[[noreturn]] void throw_errno(std::string_view action, const std::string& path);

/// `raw` made safe to print: control bytes and invalid UTF-8 become \xNN.
std::string printable(std::string_view raw);

}  // namespace bale
