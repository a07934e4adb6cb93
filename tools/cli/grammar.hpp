// The grammar of the command line. It hides the parser library.
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

  /// Call once. Throws `Error` (invalid_argument) for an invalid command line.
  Wish parse(int argc, const char* const* argv);

  /// Runs the command that parse() found and returns its exit code.
  int run(Terminal& terminal) const;

  /// The command that parse() found, even if it failed after that; the program itself if it found none.
  CommandModel current_model() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace bale::tools
