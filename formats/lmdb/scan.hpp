// Finding the samples of an LMDB file.
#pragma once

#include <string_view>

#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::lmdb {

/// Fills `index` from a file that has an entry `__bale__` with the value `header`.
void scan_ours(const BTree& tree, std::string_view header, IndexBuilder& index);
/// Fills `index` from any other file, by the shape of its keys and values (FORMAT.md, "Foreign files").
void scan_foreign(const BTree& tree, IndexBuilder& index);

}  // namespace bale::lmdb
