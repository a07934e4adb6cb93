// The one exception type of the libraries.
//
// Libraries throw `bale::Error`. They never print and never abort. `what()` is one line:
//   PATH: MESSAGE (key "KEY", offset N); HINT
// In path and key, control bytes and invalid UTF-8 are escaped as \xNN, and long parts are shortened.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

/// What went wrong, in one word.
enum class ErrorCode {
  invalid_argument,  // an argument is out of range or contradicts another
  not_found,         // a path, shard, key or field does not exist
  io,                // a system call failed; the message has the text of errno
  damaged,           // bytes contradict their checksum, index or format
  unsupported,       // valid data that bale does not read or write
  exists,            // the destination already holds something
  changed,           // a file changed while it was read, or after its index was made
  removed,           // a version of a dataset that somebody took away on purpose
  retryable,         // may succeed if tried again
  interrupted,       // stopped because the caller asked for it
  out_of_memory,     // memory could not be allocated; no sample or file is at fault
};

inline constexpr int k_exit_failure = 1;
inline constexpr int k_exit_usage = 2;
inline constexpr int k_exit_retryable = 5;
inline constexpr int k_exit_interrupted = 130;

/// A row of the one table from which exit codes, Python's exceptions and the codes in JSON derive.
struct Verdict {
  ErrorCode code;
  std::string_view name;          // `code` in Python and in JSON
  int exit_code;                  // of the program, if the error ends it
  std::string_view python_class;  // in bale.errors
};

/// All rows, in the order of the enumeration.
std::span<const Verdict> verdicts();
const Verdict& verdict_of(ErrorCode code);
/// "not_found" for ErrorCode::not_found. Lives as long as the program.
inline std::string_view error_code_name(ErrorCode code) { return verdict_of(code).name; }

/// Where an error happened and what to do about it. Every part is optional.
struct ErrorContext {
  std::string path{};                     // file or directory, raw bytes
  std::string key{};                      // sample key, raw bytes, not shortened
  std::optional<std::uint64_t> offset{};  // byte offset in `path`
  std::string hint{};                     // what to do: a short imperative clause
  int system_error = 0;                   // errno, 0 if none; its text is added to what()
  bool is_of_machine = false;             // what reading needs is missing here, such as a temporary directory
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string_view message, ErrorContext context = {});

  const char* what() const noexcept override { return text_.c_str(); }
  ErrorCode code() const noexcept { return code_; }
  const ErrorContext& context() const noexcept { return context_; }
  /// The message alone, without path, key, offset and hint.
  const std::string& message() const noexcept { return message_; }

 private:
  ErrorCode code_;
  std::string message_;
  ErrorContext context_;
  std::string text_;
};

/// Whether the process ran out of file descriptors (EMFILE, ENFILE) or memory (`out_of_memory`), lacks what else
/// reading needs (ErrorContext::is_of_machine), or a server or the network failed (`retryable`). Such an error is not
/// about the file or sample that was being read: code that skips bad samples must not skip this one.
bool is_lack_of_resources(const Error& error);

/// Throws `io` for the current `errno`, `out_of_memory` for ENOMEM: "PATH: cannot ACTION: strerror".
[[noreturn]] void throw_errno(std::string_view action, const std::string& path);

/// throw_errno() of what maps a file into memory: ENODEV says that the file system cannot.
[[noreturn]] void throw_mapping_errno(std::string_view action, const std::string& path);

/// The error of code that could not allocate memory; std::bad_alloc says neither where nor what to do.
Error out_of_memory_error(ErrorContext context = {});

/// The name of a file, or a "::" list, for messages: of URLs without user, password and query, which may be secret.
std::string shown_name(std::string_view name);

/// `raw` made safe to print on a terminal: control bytes and invalid UTF-8 become \xNN.
std::string printable(std::string_view raw);

/// For output that escapes bytes itself, such as JSON and Python's repr; printable() and shown_name() go through it.
/// `text` with "***" instead of what may be secret in its URLs: user and password, a fragment, and all of a query but
/// the names of files; and instead of the arguments of a command ("pipe:"). Other bytes stay as they are. Pure
/// function, safe in any thread.
std::string without_secrets(std::string_view text);

}  // namespace bale
