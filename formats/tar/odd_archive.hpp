// Odd archives: what our own scanner leaves alone, read through libarchive (FORMAT.md, section 9).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

/// Gives the archive's regular members by name and size, and decides which ones are wanted.
using WantMember = std::function<bool(std::string_view name, std::uint64_t size)>;

/// Unpacks a tar archive (sparse members, bzip2, xz) into one temporary file, wanted members one after
/// another in archive order: the n-th lies where the sizes of those before it end. Throws `damaged`.
std::unique_ptr<Stream> unpack_odd_archive(const std::string& path, const WantMember& want);

}  // namespace bale::tar
