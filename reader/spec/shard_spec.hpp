// Names of shards with braces, globs and "::" lists, as in WebDataset.
//
// Threads: the functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// Expands braces: "x-{000000..000009}.tar" gives ten names. Zero padding is kept; comma lists and nested braces work
/// too. Text without braces is returned as it is. Throws `invalid_argument` for unbalanced braces or more than
/// 1,000,000 names. Source: the rules of the Python package `braceexpand`.
std::vector<std::string> expand_braces(std::string_view text);

/// Splits `spec` at "::", and expands braces and globs. The matches of a glob are sorted by bytes, without the files
/// that bale writes next to shards. The name of an existing file or directory is not expanded. Throws `not_found` for a
/// pattern without a match, `invalid_argument` for a malformed spec, `io` if a directory of a pattern cannot be listed.
/// A pattern has no matches in directories that this user may not read, which are added to `unreadable`.
std::vector<std::string> expand_shard_spec(std::string_view spec, std::vector<std::string>* unreadable = nullptr);

/// The spec with all relative names made absolute, so that it stays the same after chdir() and in other processes.
/// Patterns and braces stay as they are, unless the current directory has such characters in its own name: then they
/// are expanded. Throws what expand_shard_spec() throws.
std::string absolute_spec(std::string_view spec);

}  // namespace bale
