// Whether to read a dataset around the page cache: DatasetOptions::direct_io.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bale/formats/base/files/read_limit.hpp"

namespace bale {

/// The memory that can hold files: $BALE_MEMORY_BYTES if it is set, else available_memory(). Throws `invalid_argument`
/// if the variable is not a number.
std::optional<std::uint64_t> memory_for_files();

/// Whether the files do not fit into `memory` (nullopt: not known), and less than half of their bytes are cached. Local
/// files only.
bool prefers_direct_io(std::span<const SizedFile> files, std::optional<std::uint64_t> memory);

}  // namespace bale
