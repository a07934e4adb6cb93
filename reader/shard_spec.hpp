// How a dataset is named on a command line: braces, globs and "::" lists, as WebDataset has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// "x-{000000..000009}.tar" -> ten names, zero padding kept; comma lists and nesting too; text without
/// braces comes back alone. Throws `invalid_argument` for unbalanced braces or over 1,000,000 names.
std::vector<std::string> expand_braces(std::string_view text);

/// Splits at "::", expands braces, then globs (matches sorted by bytes; a pattern that matches nothing
/// throws `not_found`). A directory stays a directory.
std::vector<std::string> expand_shard_spec(std::string_view spec);

}  // namespace bale
