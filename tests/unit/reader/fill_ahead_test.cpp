// Ranges that are filled, and the samples that a node needs.
#include <cstdint>
#include <set>
#include <vector>

#include "bale/reader/ahead/neighbor_fetch.hpp"
#include "bale/reader/order/node_share.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {

TEST_CASE("neighbors make one range up to its size", "[fill_ahead]") {
  const auto ranges = fill_ranges({{300, 100}, {0, 100}, {110, 90}, {200, 100}, {1000, 50}}, 300, 20);
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0].range.offset == 0);
  CHECK(ranges[0].range.length == 300);
  CHECK(ranges[0].num_parts == 3);
  CHECK(ranges[1].range.offset == 300);
  CHECK(ranges[1].range.length == 100);
  CHECK(ranges[2].range.offset == 1000);
}

TEST_CASE("a part that is longer than a range is a range, and empty ones are none", "[fill_ahead]") {
  const auto ranges = fill_ranges({{0, 1000}, {1000, 0}, {1000, 10}}, 300, 20);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].range.length == 1000);
  CHECK(ranges[1].range.offset == 1000);
  CHECK(fill_ranges({}, 300, 20).empty());
}

TEST_CASE("parts that overlap are in one range", "[fill_ahead]") {
  const auto ranges = fill_ranges({{0, 100}, {20, 30}, {90, 40}}, 300, 0);
  REQUIRE(ranges.size() == 1);
  CHECK(ranges[0].range.length == 130);
}

TEST_CASE("a node needs what its ranks deliver", "[fill_ahead]") {
  constexpr std::uint64_t k_size = 101;
  const std::uint64_t world = GENERATE(1, 2, 5);
  const std::uint64_t start = GENERATE(0, 30);
  const Tail tail = GENERATE(Tail::pad, Tail::drop, Tail::uneven);
  const EpochOrder order(Selection::all(k_size), Shuffle::full(), 7);
  const NodeRanks ranks{.first = world > 2 ? 1U : 0U, .count = world > 2 ? 2U : 1U};
  const RankShare share{.batch_size = 4, .rank = 0, .world_size = world, .tail = tail};
  const NodeShare node(order, share, ranks, 3, start);
  for (const std::uint64_t epoch : {3, 4}) {
    std::set<std::uint64_t> delivered;
    for (std::uint64_t rank = ranks.first; rank < ranks.first + ranks.count; ++rank) {
      RankShare own = share;
      own.rank = rank;
      const RankPlan plan(k_size, epoch == 3 ? start : 0, own);
      for (std::uint64_t batch = 0; batch < plan.num_batches(); ++batch) {
        for (std::uint64_t i = 0; i < plan.num_rows(batch); ++i) {
          const PlannedRow row = plan.row(batch, i);
          if (row.kind == PlannedRow::Kind::sample) delivered.insert(order.at(epoch, row.position).sample);
        }
      }
    }
    for (std::uint64_t sample = 0; sample < k_size; ++sample) {
      CHECK(node.has(sample, epoch) == delivered.contains(sample));
    }
  }
}

}  // namespace bale
