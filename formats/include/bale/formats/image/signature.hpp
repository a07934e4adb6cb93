// The kind of a file that probe_image() does not recognize, by the bytes at its start or end. For messages.
//
// Threads: pure functions; may be called from any thread.
#pragma once

#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/image.hpp"

namespace bale {

/// "AVIF", "JPEG 2000", "HTML", ...; empty if nothing is recognized. A literal.
std::string_view name_by_signature(Bytes file);

/// Whether this build's decode_image() decodes images of this kind.
bool can_decode(ImageKind kind);

}  // namespace bale
