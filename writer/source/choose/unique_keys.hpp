// Samples of a source that have the key of an earlier one, such as x.png beside x.jpg.
#pragma once

#include "bale/writer/source/source.hpp"

namespace bale {

/// Throws `invalid_argument`, which names all such samples up to a hundred.
void require_unique_keys(const Source& source);

}  // namespace bale
