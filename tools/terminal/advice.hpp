// Options in messages of the libraries, as the command line has them.
//
// A library names an option in backticks (`on_error`), and gives several pieces of advice as clauses joined by ", or "
// or
// "; ". The front end that shows the message decides which of them its user can follow. In backticks, a word alone is
// an option; anything longer is a command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale::tools {

/// A hint without the clauses that name an option that is not in `flags` ("--on-error"); the other names become flags.
std::string followable(std::string_view hint, const std::vector<std::string>& flags);

/// The same for a message, whose first clause always stays.
std::string with_flags(std::string_view message, const std::vector<std::string>& flags);

}  // namespace bale::tools
