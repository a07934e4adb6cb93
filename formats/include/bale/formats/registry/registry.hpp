// The formats of this build: the one place that knows all of them.
//
// Ownership: formats are constants that live as long as the process. Threads: the functions may be called by any
// thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard.hpp"

namespace bale {

/// All formats of this build, in the order of formats/CMakeLists.txt.
std::span<const Format* const> formats();

/// Those that it was built without (BALE_FORMATS of CMake).
std::span<const std::string_view> absent_formats();

/// What to do if a file may be of one of those, for a hint; empty if there is none.
std::string absent_formats_hint();

/// Throws `unsupported` if `name`, the format of the dataset at `path`, is one of those.
void require_format(std::string_view name, const std::string& path);

/// The first format that is written, in its first layout: tar. Without a layout if this build writes none.
FormatAndLayout default_format();

/// Finds a format by "NAME" or "NAME.LAYOUT", or by NAME and `layout`. Without a layout, the format's first one. Throws
/// `invalid_argument`, listing the choices.
FormatAndLayout find_format(std::string_view name, std::string_view layout = {});

/// The same among layouts that store pixels. Without a layout, the format's first such layout.
FormatAndLayout find_decoded_format(std::string_view name, std::string_view layout = {});

/// The format whose probe() is highest for a file. Throws `unsupported` if no format recognizes it, and what
/// File::open_read() throws.
const Format& probe_format(const std::string& path);

/// Opens `path` with the index next to it (`.bidx`). Without an index, scans the headers of the file. Throws `damaged`
/// if the file's size differs from the one in its index, `changed` if the index is stale, and what probe_format(),
/// ShardIndex::load(), scan_shard() and Format::open() throw.
Shard open_shard(const std::string& path, const ShardOpenOptions& options = {});

/// The index as readers of a version get it: with ShardOpenOptions::layers applied. Throws what amend() throws.
ShardIndex amended_index(ShardIndex index, const std::string& path, const ShardOpenOptions& options);

/// The index next to `path` if it was made from this file, by its size and by check_index_is_current(); nullopt if
/// there is none or another. Throws what ShardIndex::load() and probe_format() throw.
std::optional<ShardIndex> current_index(const std::string& path);

}  // namespace bale
