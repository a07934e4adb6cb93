// What a file is that was taken for an image and is none that bale knows, by the bytes that open or close it.
//
// Pure functions, safe in any thread.
#pragma once

#include <string_view>

#include "bale/formats/core/bytes.hpp"
#include "bale/formats/image/image.hpp"

namespace bale {

/// "AVIF", "JPEG 2000", "HTML", ...; empty if nothing is recognized. For what probe_image() calls unknown.
std::string_view name_by_signature(Bytes file);

/// Whether decode_image() takes images of this kind.
bool can_decode(ImageKind kind);

}  // namespace bale
