// Writing an LMDB file by liblmdb, in our key scheme (key_scheme.hpp).
#pragma once

#include <memory>

#include "bale/formats/shard/format.hpp"

namespace bale::lmdb {

/// Throws as Format::create does.
std::unique_ptr<ShardWriter> create_writer(const WriterOptions& options);

}  // namespace bale::lmdb
