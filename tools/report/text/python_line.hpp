// The line of Python that makes a measured pipeline. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "bale/loader/loader_options.hpp"

namespace bale::tools {

/// A Python literal: a str, or bytes if `raw` is not valid UTF-8 or has control bytes.
std::string python_literal(std::string_view raw);

/// `bt.Loader(...)` with these options, without those that have their default. Needs `import bale` and
/// `import bale.torch as bt`.
std::string python_loader(std::string_view spec, const LoaderOptions& options);

}  // namespace bale::tools
