// Speeds of other loaders that a benchmark script measured, to be shown beside bale's own.
#pragma once

#include <string>
#include <vector>

namespace bale::tools {

struct PeerFigure {
  std::string name;
  double images_per_s = 0;
};

/// Reads what `scripts/bench/bench_train.py --json` and `scripts/bench/bench_regimes.py --json` print: the best figure
/// of each loader, the fastest first, without bale's own. None for an empty path. Throws `not_found`, `io`, and
/// `invalid_argument` for a file of something else.
std::vector<PeerFigure> load_peer_figures(const std::string& path);

}  // namespace bale::tools
