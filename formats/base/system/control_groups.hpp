// The control groups of this process (Linux, version 1 or 2), whose limits apply to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bale {

/// Calls `visit` with the directory of each group that this process is in and of each of its parents, whose limits also
/// apply. In a container the directory may be the host's and may not exist. `controller` names a hierarchy of version
/// 1, such as "cpu". `root` is put before /proc and /sys.
void visit_control_groups(const std::string& root, std::string_view controller,
                          const std::function<void(const std::string& directory, bool is_version_2)>& visit);

/// The memory that this process can still use, with what the page cache can give back.
/// Bytes that are free or hold files that can be dropped: of the machine (MemAvailable), or below a limit of this
/// process's control groups (version 1 or 2), whichever is less. nullopt if the system does not say. `root` is put
/// before /proc and /sys.
std::optional<std::uint64_t> available_memory(const std::string& root = "");

}  // namespace bale
