#include "bale/loader/nodes/node_local.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/nodes/local_ranks.hpp"

namespace bale::loader_detail {

RankShare share_of(const LoaderOptions& options) {
  return {.batch_size = options.batch_size,
          .rank = options.rank,
          .world_size = options.world_size,
          .tail = options.tail,
          .pads_own = options.shuffle.kind == Shuffle::Kind::node_local};
}

EpochOrder node_local_order(const Dataset& dataset, const LoaderOptions& options, const Selection& selection) {
  if (selection.draws()) {
    throw Error(ErrorCode::invalid_argument,
                "a node-local shuffle cannot draw samples with replacement, which takes them from all shards",
                {.hint = "leave out weights, or use another shuffle"});
  }
  const Nodes nodes = nodes_of(share_of(options), options.shuffle.ranks_per_node);
  Selection sorted = selection.sorted();
  std::vector<std::uint64_t> ends;
  ends.reserve(dataset.num_shards());
  std::uint64_t samples = 0;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    samples += dataset.shard_size(shard);
    ends.push_back(sorted.deliveries_below(samples));
  }
  return EpochOrder(std::move(sorted), NodeParts(std::move(ends), nodes, options.seed), options.seed);
}

NodeRanks ranks_of_node(const EpochOrder& order, const RankShare& share) {
  if (!order.parts()) return local_ranks(share);
  const std::uint64_t ranks = order.parts()->nodes().ranks;
  return {.first = share.rank / ranks * ranks, .count = ranks};
}

void mark_nodes(LoaderState& state, const EpochOrder& order, bool is_end) {
  if (is_end) {
    state.position = order.size();
  } else if (state.position != 0) {
    state.nodes = order.parts()->nodes();
  }
}

void check_nodes(const LoaderState& state, const EpochOrder& order) {
  const Nodes& ours = order.parts()->nodes();
  if (state.position == 0 || state.position == order.size() || state.nodes == ours) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format(
          "the state was taken within epoch {} on {} nodes of {} ranks; this job has {} of {}, and a node-local "
          "shuffle changes them only between epochs",
          state.epoch, state.nodes.count, state.nodes.ranks, ours.count, ours.ranks),
      {.hint = "continue on as many nodes and ranks, or begin the epoch again: set_epoch()"});
}

}  // namespace bale::loader_detail
