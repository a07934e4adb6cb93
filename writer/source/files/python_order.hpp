// The order in which Python sorts file names, so that classes and samples are numbered as torchvision does.
//
// Pure functions, safe in any thread.
#pragma once

#include <string_view>

namespace bale {

/// `a < b` as Python compares the `str` that os.fsdecode makes of raw names: by code point. A byte that is not UTF-8 is
/// U+DC80..U+DCFF (PEP 383).
bool python_less(std::string_view a, std::string_view b);

}  // namespace bale
