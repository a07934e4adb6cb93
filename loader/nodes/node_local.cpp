#include "bale/loader/nodes/node_local.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale::loader_detail {
namespace {

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

std::uint64_t launched_ranks_per_node(const RankShare& share) {
  const bool is_ours = number_in("RANK") == share.rank && number_in("WORLD_SIZE") == share.world_size;
  const auto count = number_in("LOCAL_WORLD_SIZE");
  if (!is_ours || !count || *count == 0) {
    throw Error(ErrorCode::invalid_argument, "node-local: it is not known how many ranks share a node",
                {.hint = "set ranks_per_node, or start the ranks by torchrun, which sets LOCAL_WORLD_SIZE"});
  }
  const auto nodes = number_in("GROUP_WORLD_SIZE");
  if (nodes && *nodes != 0 && (share.world_size % *nodes != 0 || share.world_size / *nodes != *count)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("node-local: {} ranks on {} nodes, but {} on this one: nodes have different numbers of ranks",
                    share.world_size, *nodes, *count),
        {.hint = "start equally many ranks on every node, or use another shuffle"});
  }
  return *count;
}

}  // namespace

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

NodeRanks local_ranks(const RankShare& share) {
  const NodeRanks alone{.first = share.rank, .count = 1};
  if (share.world_size == 1) return alone;
  if (number_in("RANK") != share.rank || number_in("WORLD_SIZE") != share.world_size) return alone;
  const auto rank = number_in("LOCAL_RANK");
  const auto count = number_in("LOCAL_WORLD_SIZE");
  const bool is_usable = rank && count && *rank < *count && *rank <= share.rank && *count <= share.world_size &&
                         share.rank - *rank <= share.world_size - *count;
  return is_usable ? NodeRanks{.first = share.rank - *rank, .count = *count} : alone;
}

Nodes nodes_of(const RankShare& share, std::uint64_t ranks_per_node) {
  if (share.world_size <= 1) return {};
  if (ranks_per_node == 0) ranks_per_node = launched_ranks_per_node(share);
  if (share.world_size % ranks_per_node != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("node-local: {} ranks on nodes of {} ranks each: not a multiple", share.world_size, ranks_per_node),
        {.hint = "set ranks_per_node to the number of ranks on every node"});
  }
  return {.count = share.world_size / ranks_per_node, .ranks = ranks_per_node};
}

}  // namespace bale::loader_detail
