// The number of workers of a Loader if the caller gives none.
#pragma once

#include <optional>

namespace bale::loader_detail {

/// What the ranks of a machine know of its cores.
struct CoresOfRank {
  unsigned own = 1;      // in this process's affinity mask
  unsigned parents = 1;  // in that of the process that started it
  std::optional<double> quota{};
  unsigned num_ranks = 1;  // of this machine
};

/// One per core, of which each rank has its share. A mask that is narrower than the launcher's is a share already.
unsigned share_of_cores(const CoresOfRank& cores);
/// For this process; the ranks are those of $LOCAL_WORLD_SIZE, as torchrun sets it.
unsigned default_workers();

}  // namespace bale::loader_detail
