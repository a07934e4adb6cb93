// What went wrong, in one word, and what each front end makes of the word.
#pragma once

#include <span>
#include <string_view>

namespace bale {

enum class ErrorCode {
  invalid_argument,  // an argument is out of range or contradicts another
  not_found,         // a path, shard, key or field does not exist
  io,                // a system call failed; the message has the text of errno
  damaged,           // bytes contradict their checksum, index or format
  unsupported,       // valid data that bale does not read or write
  exists,            // the destination already holds something
  changed,           // a file changed while it was read, or after its index was made
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

}  // namespace bale
