// Contained names: a name from a file of strangers as the path of a file below a directory, as tar makes it.
#pragma once

#include <string>
#include <string_view>

namespace bale {

/// The path below a directory for `name`: without what comes before the last ".." and with it, without a leading "/",
/// and without empty and "." parts. GNU tar strips "/" and "../" likewise. A NUL byte, which no path can hold, becomes
/// "%00". Never absolute, and no part of it is "." or "..". May be empty. Pure function, safe in any thread.
std::string contained_name(std::string_view name);

/// Whether the name is absolute or has a ".." part, so that a program that unpacks it as it is may write outside its
/// directory.
bool leads_outside(std::string_view name);

}  // namespace bale
