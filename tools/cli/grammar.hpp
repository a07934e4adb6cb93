// The grammar of the command line. The parser library stays behind it.
#pragma once

#include <memory>

#include "bale/tools/help/command_model.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

class Grammar {
 public:
  enum class Wish { run, help, version };

  Grammar();
  ~Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  /// Once. Throws `Error` (invalid_argument) for a command line that makes no sense.
  Wish parse(int argc, const char* const* argv);

  /// Runs the command that parse() found and returns its exit code.
  int run(Terminal& terminal) const;

  /// The command that parse() found, as far as it got; the program where it found none.
  CommandModel current_model() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace bale::tools
