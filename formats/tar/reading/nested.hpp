// A tar whose files are all tars, as ImageNet's training images are shipped: one per class.
#pragma once

#include <functional>
#include <string>

#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/tar/reading/stream.hpp"

namespace bale::tar {

/// Scans one archive into an index. False if only libarchive can read it.
using ScanArchive = std::function<bool(const Stream& stream, IndexBuilder& index)>;

/// If every sample of `index`, found in `stream`, is one file `X.tar` and the first of them is a tar, replaces the
/// index by one of the samples in these archives: their keys have `X/` in front, their offsets are those in `stream`.
/// `path` is for messages. Throws `damaged` if another of them is no tar, `unsupported` if only libarchive can read it,
/// and if all are zip archives.
void open_nested(const Stream& stream, const std::string& path, const ScanArchive& scan, IndexBuilder& index);

}  // namespace bale::tar
