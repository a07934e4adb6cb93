// Keys as text: one function prints a key, one reads it back, one compares it with a pattern.
//
// What `bale ls` prints is what every option takes: a key as a line of text, in which bytes that cannot be printed are
// \xNN and a backslash is two. So a key with the byte 1 and one with the four characters of "\x01" are told apart.
//
// Pure functions, safe in any thread.
#pragma once

#include <string>
#include <string_view>

namespace bale {

/// The key as one line of valid UTF-8.
std::string printed_key(std::string_view key);

/// Inverse of printed_key(). A backslash that begins no escape stands for itself.
std::string read_key(std::string_view text);

/// A pattern for keys: a printed key as it is, or a glob of fnmatch(), in which \xNN is a byte as in printed keys.
class KeyPattern {
 public:
  explicit KeyPattern(std::string_view text);
  bool matches(const std::string& key) const;

 private:
  std::string key_;
  std::string glob_;
};

}  // namespace bale
