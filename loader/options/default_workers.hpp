// The number of workers of a Loader if the caller gives none.
#pragma once

#include <optional>

namespace bale::loader_detail {

/// The cores that a rank may use, and the number of ranks that share them.
struct CoresOfRank {
  unsigned own = 1;      // in this process's affinity mask
  unsigned parents = 1;  // in the parent process's affinity mask
  std::optional<double> quota{};
  unsigned num_ranks = 1;  // on this machine
};

/// One worker per core of this rank's share. An affinity mask that is narrower than the parent's is already a share.
unsigned share_of_cores(const CoresOfRank& cores);
/// share_of_cores() of this process. The number of ranks is $LOCAL_WORLD_SIZE, which torchrun sets.
unsigned default_workers();

}  // namespace bale::loader_detail
