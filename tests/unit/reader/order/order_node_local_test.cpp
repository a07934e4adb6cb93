// The node-local order: each delivery once, in equally many steps, on the node whose part its shard is, in every epoch.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/node_share.hpp"
#include "bale/reader/order/rank_plan.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers ends_of(const Numbers& sizes) {
  Numbers ends(sizes.size());
  std::partial_sum(sizes.begin(), sizes.end(), ends.begin());
  return ends;
}

EpochOrder order_of(const Numbers& sizes, Nodes nodes, std::uint64_t seed, std::uint64_t times = 1) {
  Numbers ends = ends_of(sizes);
  for (std::uint64_t& end : ends) end *= times;
  return {Selection::all(ends.empty() ? 0 : ends.back() / times).repeated(times), NodeParts(ends, nodes, seed), seed};
}

/// What the ranks deliver of an epoch from `start` on, at most `steps` batches each.
struct Run {
  std::uint64_t steps = 0;
  std::uint64_t next_start = 0;
  std::vector<Pick> delivered{};
  std::map<std::uint64_t, std::set<std::uint64_t>> of_node{};  // samples, padding included
};

Run run_ranks(const EpochOrder& order, std::uint64_t epoch, std::uint64_t start, std::uint64_t batch_size, Tail tail,
              std::uint64_t steps = ~std::uint64_t{0}) {
  const Nodes nodes = order.parts()->nodes();
  RankShare share{.batch_size = batch_size, .world_size = nodes.count * nodes.ranks, .tail = tail, .pads_own = true};
  Run run;
  for (share.rank = 0; share.rank < share.world_size; ++share.rank) {
    const RankPlan plan(order.size(), start, share);
    const std::uint64_t todo = std::min(steps, plan.num_batches());
    REQUIRE((share.rank == 0 || todo == run.steps));
    run.steps = todo;
    run.next_start = plan.position_after(todo);
    for (std::uint64_t batch = 0; batch < todo; ++batch) {
      for (std::uint64_t i = 0; i < plan.num_rows(batch); ++i) {
        const PlannedRow row = plan.row(batch, i);
        if (row.kind == PlannedRow::Kind::empty) continue;
        const Pick pick = order.at(epoch, row.position);
        if (row.kind == PlannedRow::Kind::sample) run.delivered.push_back(pick);
        run.of_node[share.rank / nodes.ranks].insert(pick.sample);
      }
    }
  }
  return run;
}

std::set<std::pair<std::uint64_t, std::uint64_t>> set_of(const std::vector<Pick>& picks) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> set;
  for (const Pick& pick : picks) REQUIRE(set.insert({pick.sample, pick.copy}).second);
  return set;
}

/// Shards of which several nodes have samples.
std::uint64_t num_shared_shards(const Run& run, const Numbers& sizes) {
  const Numbers ends = ends_of(sizes);
  std::map<std::uint64_t, std::set<std::uint64_t>> nodes_of_shard;
  for (const auto& [node, samples] : run.of_node) {
    for (const std::uint64_t sample : samples) {
      nodes_of_shard[static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), sample) - ends.begin())]
          .insert(node);
    }
  }
  return static_cast<std::uint64_t>(
      std::count_if(nodes_of_shard.begin(), nodes_of_shard.end(), [](const auto& of) { return of.second.size() > 1; }));
}

std::uint64_t sum(const Numbers& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }

/// All that is promised of one job.
void check_job(const Numbers& sizes, Nodes nodes, std::uint64_t batch_size, Tail tail, std::uint64_t seed) {
  CAPTURE(sizes, nodes.count, nodes.ranks, batch_size, static_cast<int>(tail), seed);
  const EpochOrder order = order_of(sizes, nodes, seed);
  const std::uint64_t world_size = nodes.count * nodes.ranks;
  std::map<std::uint64_t, std::set<std::uint64_t>> parts;  // over the epochs
  for (const std::uint64_t epoch : {0, 1, 7}) {
    const Run whole = run_ranks(order, epoch, 0, batch_size, tail);
    const std::uint64_t left_out = tail == Tail::drop ? order.size() % (batch_size * world_size) : 0;
    REQUIRE(set_of(whole.delivered).size() == order.size() - left_out);
    REQUIRE(num_shared_shards(whole, sizes) < nodes.count + (order.size() < world_size ? world_size : 0));
    for (const auto& [node, samples] : whole.of_node) parts[node].insert(samples.begin(), samples.end());
  }
  if (order.size() >= world_size) {  // else padding is another node's
    std::uint64_t in_parts = 0;
    std::set<std::uint64_t> all;
    for (const auto& [node, samples] : parts) {
      REQUIRE(samples.size() <= order.parts()->size_of(node));
      in_parts += samples.size();
      all.insert(samples.begin(), samples.end());
    }
    REQUIRE(all.size() == in_parts);  // no node has another's samples, in any epoch
  }
  // Stopped after every step, also with another batch size from there on.
  const std::uint64_t steps = RankPlan(order.size(), 0, {batch_size, 0, world_size, tail}).num_batches();
  for (std::uint64_t stop = 0; stop <= steps; ++stop) {
    Run before = run_ranks(order, 3, 0, batch_size, tail, stop);
    const std::uint64_t then = tail == Tail::drop ? batch_size : 1 + (batch_size + stop) % 5;
    const Run after = run_ranks(order, 3, before.next_start, then, tail);
    before.delivered.insert(before.delivered.end(), after.delivered.begin(), after.delivered.end());
    const std::uint64_t left_out = tail == Tail::drop ? order.size() % (batch_size * world_size) : 0;
    REQUIRE(set_of(before.delivered).size() == order.size() - left_out);
  }
}

}  // namespace

TEST_CASE("node-local: each sample once, in its node's part, in equally many steps", "[order]") {
  // Every job of up to 3 shards of 0 to 3 samples on up to 3 nodes of up to 2 ranks.
  std::vector<Numbers> shardings{{}};
  for (std::size_t first = 0, length = 0; length < 3; ++length) {
    const std::size_t end = shardings.size();
    for (std::size_t i = first; i < end; ++i) {
      for (std::uint64_t size = 0; size <= 3; ++size) {
        shardings.push_back(shardings[i]);
        shardings.back().push_back(size);
      }
    }
    first = end;
  }
  for (const Numbers& sizes : shardings) {
    if (sum(sizes) == 0) continue;
    for (std::uint64_t count = 1; count <= 3; ++count) {
      for (std::uint64_t ranks = 1; ranks <= 2; ++ranks) {
        for (const Tail tail : {Tail::pad, Tail::drop, Tail::uneven}) check_job(sizes, {count, ranks}, 2, tail, 1);
      }
    }
  }
  // Larger ones at random.
  KeyedRandom random{77};
  for (int round = 0; round < 200; ++round) {
    Numbers sizes(1 + random.below(40));
    for (std::uint64_t& size : sizes) size = random.below(30);
    if (sum(sizes) == 0) continue;
    const Nodes nodes{1 + random.below(6), 1 + random.below(4)};
    check_job(sizes, nodes, 1 + random.below(9), static_cast<Tail>(random.below(3)), random.next());
  }
}

TEST_CASE("node-local: positions and items are inverse to each other", "[order]") {
  KeyedRandom random{78};
  for (int round = 0; round < 100; ++round) {
    Numbers sizes(1 + random.below(20));
    for (std::uint64_t& size : sizes) size = random.below(20);
    const Nodes nodes{1 + random.below(5), 1 + random.below(4)};
    const std::uint64_t times = 1 + random.below(3);
    const EpochOrder order = order_of(sizes, nodes, random.next(), times);
    CAPTURE(sizes, nodes.count, nodes.ranks, times);
    for (std::uint64_t item = 0; item < order.size(); ++item) {
      const std::uint64_t position = order.position_of(2, item);
      REQUIRE(position < order.size());
      REQUIRE(order.at(2, position) == order.selection().at(item, order.seed(), 2));
    }
    if (order.size() > 0) REQUIRE_FALSE(order.window(0, 0).has_value());
  }
}

TEST_CASE("node-local: what a node has agrees with what its ranks deliver", "[order]") {
  const Numbers sizes{7, 0, 13, 5, 5, 9, 1, 20};
  const Nodes nodes{3, 2};
  const EpochOrder order = order_of(sizes, nodes, 4);
  const Run run = run_ranks(order, 5, 0, 4, Tail::uneven);
  for (std::uint64_t node = 0; node < nodes.count; ++node) {
    const NodeShare share(order, {.batch_size = 4, .world_size = 6, .tail = Tail::uneven, .pads_own = true},
                          {.first = node * 2, .count = 2}, 5, 0);
    for (std::uint64_t sample = 0; sample < order.size(); ++sample) {
      CHECK(share.has(sample, 5) == (run.of_node.at(node).count(sample) != 0));
    }
  }
}

TEST_CASE("node-local: epochs, seeds and nodes differ", "[order]") {
  const Numbers sizes(50, 20);
  const auto first = [&](Nodes nodes, std::uint64_t seed, std::uint64_t epoch) {
    return run_ranks(order_of(sizes, nodes, seed), epoch, 0, 8, Tail::pad).of_node.at(0);
  };
  const auto in_order = [&](std::uint64_t epoch) {
    std::vector<std::uint64_t> samples;
    const EpochOrder order = order_of(sizes, {2, 2}, 1);
    for (std::uint64_t i = 0; i < order.size(); ++i) samples.push_back(order.at(epoch, i).sample);
    return samples;
  };
  CHECK(in_order(0) != in_order(1));
  CHECK(first({2, 2}, 1, 0) == first({2, 2}, 1, 1));
  CHECK(first({2, 2}, 1, 0) != first({2, 2}, 2, 0));
  CHECK(order_of(sizes, {2, 2}, 1).fingerprint() == order_of(sizes, {4, 1}, 1).fingerprint());
  CHECK(order_of(sizes, {2, 2}, 1).fingerprint() != order_of(sizes, {2, 2}, 2).fingerprint());
  CHECK(order_of(sizes, {2, 2}, 1).fingerprint() != EpochOrder(Selection::all(1000), Shuffle::full(), 1).fingerprint());
}

TEST_CASE("node-local: the order is the same in every version", "[order]") {
  const EpochOrder order = order_of({4, 3, 5, 2, 6}, {2, 1}, 9);
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < order.size(); ++i) samples.push_back(order.at(1, i).sample);
  CHECK(samples == std::vector<std::uint64_t>{12, 3, 13, 5, 7, 6, 15, 9, 17, 10, 19, 11, 8, 4, 16, 1, 18, 2, 14, 0});
}

TEST_CASE("node-local: sorted selections", "[order]") {
  const Selection subset = Selection::subset({9, 4, 4, 0, 7}, 10).repeated(2);
  const Selection sorted = subset.sorted();
  std::vector<Pick> picks;
  for (std::uint64_t i = 0; i < sorted.size(); ++i) picks.push_back(sorted.at(i, 0, 0));
  CHECK(picks == std::vector<Pick>{{0, 0}, {0, 1}, {4, 0}, {4, 1}, {4, 2}, {4, 3}, {7, 0}, {7, 1}, {9, 0}, {9, 1}});
  CHECK(sorted.deliveries_below(0) == 0);
  CHECK(sorted.deliveries_below(5) == 6);
  CHECK(sorted.deliveries_below(100) == 10);
  CHECK(sorted.fingerprint() == Selection::subset({7, 0, 4, 9, 4}, 10).repeated(2).sorted().fingerprint());
  CHECK(Selection::all(6).repeated(3).sorted().deliveries_below(4) == 12);
  CHECK_THROWS_AS(Selection::weighted(std::vector<double>{1, 2}, 3).sorted(), Error);
}

TEST_CASE("node-local: what makes no sense is refused", "[order]") {
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), Shuffle::node_local(1), 1), Error);
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), NodeParts({4}, {1, 1}, 1), 1), Error);
  CHECK_THROWS_AS(EpochOrder(Selection::weighted(std::vector<double>{1, 2}, 2), NodeParts({2}, {1, 1}, 1), 1), Error);
  CHECK_THROWS_AS(NodeParts({4}, {0, 1}, 1), Error);
  CHECK_THROWS_AS(NodeParts({4}, {1, 0}, 1), Error);
  CHECK_THROWS_AS(NodeParts({4, 3}, {1, 1}, 1), Error);
}

}  // namespace bale
