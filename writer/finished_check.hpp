// Whether what an earlier run finished is still there as it was: nothing is believed that was not compared.
#pragma once

#include <string>
#include <vector>

#include "bale/writer/journal.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/replacement.hpp"

namespace bale {

/// Whether there is a regular file of this name itself, not a link to one.
bool is_file(const std::string& path);

/// Whether a shard and everything that belongs to it is there, and the shard has the recorded size and digest.
/// `moves` are its files, the shard last; they are looked for in `partial_directory` under their temporary names, or at
/// the destination if that is empty.
bool is_intact(const std::vector<Replacement::Move>& moves, const PackOptions& options, const FinishedShard& recorded,
               const std::string& partial_directory);

}  // namespace bale
