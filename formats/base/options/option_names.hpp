// Options in messages of the libraries, as a front end has them: the command line --on-error, Python on_error.
//
// A library names an option in backticks (`on_error`), and gives several pieces of advice as clauses joined by ", or "
// or "; ". The front end that shows the message decides which of them its user can follow. In backticks, a word alone
// is an option; anything longer is a command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"

namespace bale {

/// The options that a user of a front end has.
struct OptionNames {
  std::vector<std::string> names{};  // "on_error"
  bool are_flags = false;            // they are written as --on-error

  /// A hint without the clauses that name an option that is not here; the other names are written as the user has them.
  std::string followable(std::string_view hint) const;
  /// The same for a message, whose first clause always stays.
  std::string shown(std::string_view message) const;
  /// The same for an error. Paths and keys are unchanged.
  Error shown(const Error& error) const;
};

}  // namespace bale
