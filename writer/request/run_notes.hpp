// RunNotes: what a run says to its user while it works, besides its progress.
//
// Threads: the functions are called by the thread that runs the request.
#pragma once

#include <functional>
#include <string>

#include "bale/formats/base/options/option_names.hpp"

namespace bale {

struct RunNotes {
  std::function<void(const std::string& line)> note{};     // what was not taken
  std::function<void(const std::string& line)> remark{};   // what was done as asked; empty: it is not said
  std::function<void(const std::string& line)> warning{};  // what is odd about the plan or the destination
  OptionNames options{};                                   // of the user, for both
};

}  // namespace bale
