// The schemes that bale brings: the one table of them.
#pragma once

namespace bale {

/// Adds all of them to this process. To be called once. Nothing is read or started before the first remote name is
/// opened.
void add_schemes();

}  // namespace bale
