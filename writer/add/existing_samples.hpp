// The samples of a source that a dataset has already, or has no longer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// Samples of `source` that the dataset in `directory` has, ascending. With `compares`, each is compared with what the
/// index says of the other: throws `invalid_argument` if label or bytes differ. Reads every index of the dataset.
/// Memory: 16 bytes per sample of the source, and one index.
std::vector<std::uint64_t> find_existing(const Source& source, const std::string& directory, const Manifest& manifest,
                                         const PackOptions& options, bool compares, Progress& progress);

/// Throws `invalid_argument` if versions of the dataset removed a sample with the key or the image of one of `source`.
/// Images are compared as they would be packed, in layouts that keep bytes; they are read if their sizes do not tell.
void require_none_removed(const Source& source, const PackOptions& options, const Manifest& manifest,
                          Progress& progress);

}  // namespace bale
