// Dealing an epoch out to ranks: each position where it belongs, also after a stop and with other ranks.
#include <map>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {
namespace {

using Kind = PlannedRow::Kind;

struct RankRun {
  std::uint64_t num_batches = 0;
  std::uint64_t next_start = 0;
  std::vector<std::uint64_t> delivered{};  // positions
  std::vector<std::uint64_t> padding{};
  std::uint64_t empty = 0;
};

/// The first `batches` batches (all where there are fewer) of all ranks, step by step.
RankRun run_ranks(std::uint64_t size, std::uint64_t start, RankShare share, std::uint64_t batches = ~std::uint64_t{0}) {
  RankRun run;
  std::vector<RankPlan> plans;
  for (share.rank = 0; share.rank < share.world_size; ++share.rank) plans.emplace_back(size, start, share);
  run.num_batches = std::min(batches, plans[0].num_batches());
  run.next_start = plans[0].position_after(run.num_batches);
  for (std::uint64_t batch = 0; batch < run.num_batches; ++batch) {
    for (const RankPlan& plan : plans) {
      REQUIRE(plan.num_batches() == plans[0].num_batches());
      REQUIRE(plan.num_rows(batch) == plans[0].num_rows(batch));
      REQUIRE(plan.num_rows(batch) > 0);
      REQUIRE(plan.num_rows(batch) <= share.batch_size);
      REQUIRE((plan.num_rows(batch) == share.batch_size || batch + 1 == plan.num_batches()));
      for (std::uint64_t index = 0; index < plan.num_rows(batch); ++index) {
        const PlannedRow row = plan.row(batch, index);
        if (row.kind == Kind::empty) {
          ++run.empty;
          continue;
        }
        REQUIRE(row.position < size);
        (row.kind == Kind::sample ? run.delivered : run.padding).push_back(row.position);
      }
    }
  }
  return run;
}

std::vector<std::uint64_t> rows_of(const RankPlan& plan) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t batch = 0; batch < plan.num_batches(); ++batch) {
    for (std::uint64_t i = 0; i < plan.num_rows(batch); ++i) positions.push_back(plan.row(batch, i).position);
  }
  return positions;
}

}  // namespace

TEST_CASE("ranks are dealt positions as DistributedSampler deals them", "[order]") {
  // list(DistributedSampler(range(10), 4, rank, shuffle=False)) of torch for each rank.
  const std::vector<std::vector<std::uint64_t>> torch{{0, 4, 8}, {1, 5, 9}, {2, 6, 0}, {3, 7, 1}};
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    CHECK(rows_of({10, 0, {.batch_size = 2, .rank = rank, .world_size = 4}}) == torch[rank]);
  }
  // The same of range(3) over 8 ranks: round and round.
  for (std::uint64_t rank = 0; rank < 8; ++rank) {
    CHECK(rows_of({3, 0, {.batch_size = 2, .rank = rank, .world_size = 8}}) == std::vector<std::uint64_t>{rank % 3});
  }
}

TEST_CASE("tails of an epoch", "[order]") {
  const RankPlan pad(10, 0, {.batch_size = 2, .rank = 2, .world_size = 3});
  CHECK(pad.num_batches() == 2);
  CHECK(pad.num_rows(1) == 2);
  CHECK(pad.row(1, 1).kind == Kind::padding);
  CHECK(pad.row(1, 1).position == 1);
  const RankPlan uneven(10, 0, {.batch_size = 3, .rank = 2, .world_size = 3, .tail = Tail::uneven});
  CHECK(uneven.num_batches() == 2);
  CHECK(uneven.num_rows(1) == 1);
  CHECK(uneven.row(1, 0).kind == Kind::empty);
  const RankPlan drop(10, 0, {.batch_size = 2, .rank = 2, .world_size = 3, .tail = Tail::drop});
  CHECK(drop.num_batches() == 1);
  CHECK(drop.position_after(1) == 6);
  const RankPlan resumed(10, 7, {.batch_size = 4, .rank = 1, .world_size = 2});
  CHECK(resumed.num_batches() == 1);
  CHECK(resumed.row(0, 0).position == 8);
  CHECK(resumed.row(0, 1).kind == Kind::padding);
  CHECK(resumed.row(0, 1).position == 0);
  CHECK(resumed.position_after(1) == 10);
  for (const Tail tail : {Tail::pad, Tail::drop, Tail::uneven}) {
    CHECK(RankPlan(10, 10, {.batch_size = 4, .tail = tail}).num_batches() == 0);
    CHECK(RankPlan(0, 0, {.batch_size = 4, .tail = tail}).num_batches() == 0);
  }
}

TEST_CASE("shares that make no sense are refused", "[order]") {
  constexpr std::uint64_t k_huge = std::uint64_t{1} << 40;
  CHECK_THROWS_AS(RankPlan(10, 0, {.batch_size = 0}), Error);
  CHECK_THROWS_AS(RankPlan(10, 0, {.world_size = 0}), Error);
  CHECK_THROWS_AS(RankPlan(10, 0, {.rank = 2, .world_size = 2}), Error);
  CHECK_THROWS_AS(RankPlan(10, 11, {}), Error);
  CHECK_THROWS_AS(RankPlan(10, 0, {.tail = static_cast<Tail>(3)}), Error);
  CHECK_THROWS_AS(RankPlan(10, 0, {.batch_size = k_huge, .world_size = k_huge}), Error);
  CHECK(RankPlan(10, 0, {.batch_size = k_huge, .world_size = 1024}).num_batches() == 1);
}

TEST_CASE("every sample exactly once over worlds and restarts", "[order]") {
  KeyedRandom random{2000};
  const std::vector<std::uint64_t> worlds{1, 2, 3, 8};
  const auto share = [&](Tail tail) {
    return RankShare{.batch_size = 1 + random.below(40), .world_size = worlds[random.below(4)], .tail = tail};
  };
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t size = 1 + random.below(random.below(2) == 0 ? 30 : 1500);
    const auto tail = static_cast<Tail>(random.below(3));
    const std::vector<Shuffle> shuffles{Shuffle::none(), Shuffle::full(),
                                        Shuffle::block(1 + random.below(64), 1 + random.below(8))};
    const EpochOrder order(Selection::all(size), shuffles[random.below(3)], random.next());
    const std::uint64_t epoch = random.below(100);
    const RankShare before = share(tail);
    const RankShare after = share(tail);
    CAPTURE(round, size, static_cast<int>(tail), before.batch_size, before.world_size, after.batch_size,
            after.world_size);

    // Stopped after some batches, resumed by others: what the first batches took is a prefix.
    const std::uint64_t whole = RankPlan(size, 0, before).num_batches();
    const RankRun first = run_ranks(size, 0, before, random.below(whole + 1));
    const RankRun second = run_ranks(size, first.next_start, after);
    std::vector<std::uint64_t> counts(size);
    for (const RankRun* run : {&first, &second}) {
      for (const std::uint64_t position : run->delivered) ++counts.at(order.at(epoch, position).sample);
    }
    std::uint64_t missing = 0;
    for (const std::uint64_t count : counts) {
      REQUIRE(count <= 1);
      missing += 1 - count;
    }
    if (tail == Tail::drop) {
      // Left out by the second run, less than a step; or by the first where that ran to its end.
      REQUIRE(missing < after.batch_size * after.world_size);
    } else {
      REQUIRE(missing == 0);
    }
    REQUIRE((tail == Tail::uneven || first.empty + second.empty == 0));
    for (const RankRun* run : {&first, &second}) {
      const RankShare& of = run == &first ? before : after;
      REQUIRE((tail == Tail::pad || run->padding.empty()));
      REQUIRE(run->padding.size() + run->empty < of.world_size);
      std::map<std::uint64_t, std::uint64_t> repeats;
      for (const std::uint64_t position : run->padding) ++repeats[position];
      // The beginning of the epoch, round and round: every position as often as the one before or once less.
      std::uint64_t left = run->padding.size();
      for (std::uint64_t position = 0; position < std::min<std::uint64_t>(size, of.world_size); ++position) {
        REQUIRE(repeats[position] == left / size + (left % size > position ? 1 : 0));
      }
    }
  }
}

}  // namespace bale
