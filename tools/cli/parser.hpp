// Parses a command line. It hides the parser library.
#pragma once

#include <memory>
#include <string>

#include "bale/tools/help/command_model.hpp"

namespace bale::tools {

class Parser {
 public:
  enum class Request { run, help, short_help, version };

  /// `program` must outlive this object.
  explicit Parser(const CommandModel& program);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// Gives the options their values. Call once. Throws `Error` (invalid_argument) for an invalid command
  /// line.
  Request parse(int argc, const char* const* argv);

  /// The command that parse() found, even if it failed after that; the program itself if it found none.
  const CommandModel& command() const;
  /// Whether the command line has an option of the command. Call it after parse().
  bool was_given(const std::string& long_name) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace bale::tools
