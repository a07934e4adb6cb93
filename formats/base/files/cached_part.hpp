// How much of some files is in the page cache.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace bale {

struct SizedFile {
  std::string path;
  std::uint64_t bytes = 0;
};

/// An estimate of the part of the files' bytes that is in the page cache, from 0 to 1, by reading a few bytes without
/// waiting for the disk. nullopt if that is not supported, or a file cannot be read. Takes less than a millisecond for
/// local files.
std::optional<double> cached_part(std::span<const SizedFile> files);

}  // namespace bale
