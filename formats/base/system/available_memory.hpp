// The memory that this process can still use, with what the page cache can give back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bale {

/// Bytes that are free or hold files that can be dropped: of the machine (MemAvailable), or below a limit of this
/// process's control groups (version 1 or 2), whichever is less. nullopt if the system does not say. `root` is put
/// before /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::string& root = "");

}  // namespace bale
