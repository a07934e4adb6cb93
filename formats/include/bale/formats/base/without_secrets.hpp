// What may be secret in a name or a message. printable() and shown_name() (error.hpp) go through it; call it directly
// for output that escapes bytes itself, such as JSON and Python's repr.
#pragma once

#include <string>
#include <string_view>

namespace bale {

/// `text` with "***" instead of what may be secret in its URLs: user and password, a fragment, and all of a query but
/// the names of files; and instead of the arguments of a command ("pipe:"). Other bytes stay as they are. Pure
/// function, safe in any thread.
std::string without_secrets(std::string_view text);

}  // namespace bale
