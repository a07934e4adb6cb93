#pragma once

#include <string>

#include "bale/formats/core/bytes.hpp"

namespace bale {

/// Makes a file of these bytes and has them on the disk; under a name that nobody looks for yet.
void write_durably(const std::string& path, Bytes bytes);

}  // namespace bale
