// What a packed dataset says of how its shards are written. Safe in any thread.
#pragma once

#include <string>

#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/packer.hpp"

namespace bale {

/// The manifest of a dataset that a run changes. Throws `not_found` if there is none.
Manifest manifest_to_change(const std::string& directory);

/// `asked` with format, layout, name, sidecars, seek points and codecs of the dataset. Throws `unsupported` for shards
/// whose names have their number (Layout::counted).
PackOptions options_as_packed(PackOptions asked, const Manifest& manifest);

}  // namespace bale
