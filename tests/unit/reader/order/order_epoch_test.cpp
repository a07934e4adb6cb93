// The order of an epoch: each delivery once, blocks kept together, epochs and seeds apart.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/use_clock.hpp"
#include "bale/tests/support/catch.hpp"

namespace bale {
namespace {

std::vector<std::uint64_t> samples_of(const EpochOrder& order, std::uint64_t epoch = 0) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < order.size(); ++i) result.push_back(order.at(epoch, i).sample);
  return result;
}

/// Every item of a selection exactly once.
bool complete(const EpochOrder& order, std::uint64_t epoch) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const Pick pick = order.at(epoch, i);
    if (!seen.insert({pick.sample, pick.copy}).second) return false;
  }
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const Pick pick = order.selection().at(i, order.seed(), epoch);
    if (seen.count({pick.sample, pick.copy}) == 0) return false;
  }
  return true;
}

/// What a block shuffle promises of its windows.
void check_windows(const EpochOrder& order, std::uint64_t epoch, std::uint64_t block, std::uint64_t window_blocks) {
  std::set<std::uint64_t> done;  // blocks of earlier windows
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::uint64_t> in_window;  // block -> samples
  const auto close = [&] {
    REQUIRE(in_window.size() <= window_blocks);
    for (const auto& [number, count] : in_window) {
      REQUIRE(done.insert(number).second);
      REQUIRE(count == std::min(block, order.size() - number * block));
    }
    in_window.clear();
  };
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const std::uint64_t window = order.window(epoch, i).value();
    if (window != last) {
      REQUIRE(window == last + 1);
      REQUIRE(in_window.size() == window_blocks);
      close();
      last = window;
    }
    ++in_window[order.at(epoch, i).sample / block];
  }
  close();
}

}  // namespace

TEST_CASE("no shuffle is the order of the dataset", "[order]") {
  const EpochOrder order(Selection::subset({4, 1, 3}, 5), Shuffle::none(), 7);
  CHECK(samples_of(order) == std::vector<std::uint64_t>{4, 1, 3});
  CHECK(samples_of(order, 5) == std::vector<std::uint64_t>{4, 1, 3});
  CHECK_FALSE(order.window(0, 0).has_value());
}

TEST_CASE("each delivery comes once whatever the sizes", "[order]") {
  KeyedRandom random{20};
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t size = 1 + random.below(400);
    const std::uint64_t block = 1 + random.below(50);
    const std::uint64_t window = 1 + random.below(12);
    const std::uint64_t epoch = random.below(5);
    CAPTURE(size, block, window, epoch);
    const EpochOrder blocks(Selection::all(size), Shuffle::block(block, window), random.next());
    REQUIRE(complete(blocks, epoch));
    check_windows(blocks, epoch, std::min(block, size), window);
    REQUIRE(complete({Selection::all(size), Shuffle::full(), random.next()}, epoch));
    REQUIRE(complete({Selection::all(size).repeated(1 + random.below(4)), Shuffle::stream(block, window), 1}, epoch));
    REQUIRE(complete({Selection::all(size).repeated(1 + random.below(4)), Shuffle::block(block, window), 1}, epoch));
  }
  CHECK(complete({Selection::all(1000), Shuffle::block(~std::uint64_t{0}, ~std::uint64_t{0}), 1}, 0));
  CHECK(complete({Selection::all(1000), Shuffle::block(1, ~std::uint64_t{0}), 1}, 0));
  CHECK(EpochOrder(Selection::all(0), Shuffle::block(), 1).size() == 0);
}

TEST_CASE("the position of a delivery is known without a search", "[order]") {
  const auto check = [](const EpochOrder& order, std::uint64_t epoch) {
    for (std::uint64_t item = 0; item < order.size(); ++item) {
      const std::uint64_t position = order.position_of(epoch, item);
      REQUIRE(position < order.size());
      REQUIRE(order.at(epoch, position) == order.selection().at(item, order.seed(), epoch));
    }
  };
  KeyedRandom random{21};
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t size = 1 + random.below(400);
    const std::uint64_t block = 1 + random.below(50);
    const std::uint64_t window = 1 + random.below(12);
    const std::uint64_t epoch = random.below(5);
    const std::uint64_t seed = random.next();
    CAPTURE(size, block, window, epoch, seed);
    for (const Shuffle& shuffle :
         {Shuffle::none(), Shuffle::full(), Shuffle::block(block, window), Shuffle::stream(block, window)}) {
      check({Selection::all(size), shuffle, seed}, epoch);
      check({Selection::all(size).repeated(1 + random.below(4)), shuffle, seed}, epoch);
      check({Selection::subset({size - 1, 0, size / 2, 0}, size), shuffle, seed}, epoch);
    }
  }
  check({Selection::all(1000), Shuffle::block(~std::uint64_t{0}, ~std::uint64_t{0}), 1}, 0);
}

TEST_CASE("the next use of a sample is its next delivery", "[order]") {
  KeyedRandom random{22};
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t size = 3 + random.below(60);
    const Selection all = Selection::all(size);
    const std::vector<Selection> selections{all, all.repeated(2), Selection::subset({2, 0, 1, 2}, size)};
    const std::vector<Shuffle> shuffles{Shuffle::none(), Shuffle::full(), Shuffle::block(5, 3), Shuffle::stream(5, 3)};
    const EpochOrder order(selections[random.below(3)], shuffles[random.below(4)], random.next());
    const std::uint64_t end = 4 * order.size();
    const UseClock clock(order, 77, end);
    std::map<std::uint64_t, std::uint64_t> next;  // of each sample
    std::uint64_t last_time = NextUse::k_never;
    for (std::uint64_t n = end; n-- > 0;) {
      const std::uint64_t epoch = n / order.size();
      const std::uint64_t position = n % order.size();
      const std::uint64_t sample = order.at(epoch, position).sample;
      const std::optional<NextUse> use = clock.next_use(sample, epoch, position);
      REQUIRE(use);
      CHECK(use->order == 77);
      CHECK(use->now / NextUse::k_epoch == epoch);
      CHECK(use->now < last_time);  // times differ and follow the order
      CHECK(use->time == (next.contains(sample) ? next[sample] : NextUse::k_never));
      CHECK(clock.time(epoch, position) == use->now);
      last_time = use->now;
      next[sample] = use->now;
    }
  }
  const UseClock partial({Selection::subset({1}, 3), Shuffle::full(), 1}, 1);
  CHECK_FALSE(partial.next_use(0, 0, 0));
  CHECK(partial.next_use(1, 0, 0)->time == NextUse::k_epoch);
  const std::vector<double> weights{1, 2};
  CHECK_FALSE(UseClock({Selection::weighted(weights, 3), Shuffle::full(), 1}, 1).knows());
}

TEST_CASE("a block shuffle keeps the copies of a sample in one window", "[order]") {
  const EpochOrder order(Selection::all(100).repeated(3), Shuffle::block(8, 2), 5);
  std::map<std::uint64_t, std::set<std::uint64_t>> windows;
  for (std::uint64_t i = 0; i < order.size(); ++i) windows[order.at(0, i).sample].insert(*order.window(0, i));
  REQUIRE(windows.size() == 100);
  for (const auto& [sample, in] : windows) CHECK(in.size() == 1);
  CHECK(*order.window(0, 299) == 6);  // 13 blocks of 8 samples in pairs
}

TEST_CASE("the short block of a block shuffle comes at any time", "[order]") {
  std::map<std::uint64_t, std::uint64_t> windows;  // in which the dataset's last sample is
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const EpochOrder order(Selection::all(4 * 10 + 3), Shuffle::block(10, 1), seed);
    for (std::uint64_t i = 0; i < order.size(); ++i) {
      if (order.at(0, i).sample == 42) ++windows[*order.window(0, i)];
    }
  }
  REQUIRE(windows.size() == 5);
  for (const auto& [window, count] : windows) {
    CHECK(count > 310);  // 400 on average, 18 the standard deviation
    CHECK(count < 490);
  }
}

TEST_CASE("blocks and samples within windows are shuffled evenly", "[order]") {
  // Where sample 0 of 96 comes, over many epochs: anywhere alike.
  const EpochOrder order(Selection::all(96), Shuffle::block(8, 4), 3);
  std::vector<std::uint64_t> counts(96);
  for (std::uint64_t epoch = 0; epoch < 9600; ++epoch) {
    for (std::uint64_t i = 0; i < 96; ++i) {
      if (order.at(epoch, i).sample == 0) ++counts[i];
    }
  }
  for (const std::uint64_t count : counts) {
    CHECK(count > 50);  // 100 on average
    CHECK(count < 150);
  }
}

TEST_CASE("epochs differ and seeds differ", "[order]") {
  for (const Shuffle& shuffle : {Shuffle::full(), Shuffle::block(10, 20)}) {
    const auto base = samples_of({Selection::all(1000), shuffle, 1}, 0);
    for (const auto& [seed, epoch] : {std::pair<std::uint64_t, std::uint64_t>{1, 1}, {2, 0}, {0, 1}, {1, 1 << 20}}) {
      const auto other = samples_of({Selection::all(1000), shuffle, seed}, epoch);
      std::uint64_t same = 0;
      for (std::size_t i = 0; i < base.size(); ++i) same += base[i] == other[i] ? 1 : 0;
      CHECK(same < 25);
    }
    CHECK(samples_of({Selection::all(1000), shuffle, 1}, 0) == base);
  }
}

TEST_CASE("draws are not shuffled again", "[order]") {
  const std::vector<double> weights{1, 2, 3, 4};
  const Selection selection = Selection::weighted(weights, 50);
  const EpochOrder plain(selection, Shuffle::none(), 9);
  for (const Shuffle& shuffle : {Shuffle::full(), Shuffle::block(4, 4)}) {
    const EpochOrder order(selection, shuffle, 9);
    CHECK(samples_of(order, 2) == samples_of(plain, 2));
    CHECK(order.fingerprint() == plain.fingerprint());
  }
}

TEST_CASE("another order has another fingerprint", "[order]") {
  std::set<std::uint64_t> seen;
  for (const Selection& selection : {Selection::all(100), Selection::all(101), Selection::all(100).repeated(2)}) {
    for (const Shuffle& shuffle : {Shuffle::none(), Shuffle::full(), Shuffle::block(4, 8), Shuffle::block(8, 4),
                                   Shuffle::block(8, 8), Shuffle::stream(4, 8)}) {
      for (const std::uint64_t seed : {0, 1}) seen.insert(EpochOrder(selection, shuffle, seed).fingerprint());
    }
  }
  CHECK(seen.size() == 36);
}

TEST_CASE("another dataset has another fingerprint, which fits in a signed number", "[order]") {
  const EpochOrder order(Selection::all(100), Shuffle::full(), 1);
  std::set<std::uint64_t> seen{order.fingerprint(100)};
  for (std::uint64_t identity = 0; identity < 1000; ++identity) {
    const std::uint64_t fingerprint = order.fingerprint(100, identity);
    CHECK(fingerprint >> 63 == 0);
    seen.insert(fingerprint);
  }
  CHECK(seen.size() == 1001);
}

TEST_CASE("an order that begins in stored order is the same if the dataset turns out to be longer", "[order]") {
  constexpr std::uint64_t k_endless = std::uint64_t{1} << 60;
  KeyedRandom random{24};
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t size = 1 + random.below(400);
    const std::uint64_t times = 1 + random.below(3);
    const std::uint64_t seed = random.next();
    const Shuffle shuffle =
        random.below(2) == 0 ? Shuffle::none() : Shuffle::stream(1 + random.below(9), 1 + random.below(9));
    const EpochOrder order(Selection::all(size).repeated(times), shuffle, seed);
    const EpochOrder endless(Selection::all(k_endless).repeated(times), shuffle, seed);
    for (std::uint64_t position = 0; position < order.size(); ++position) {
      const auto samples = endless.samples_for(0, position + 1);
      REQUIRE(samples == order.samples_for(0, position + 1));
      if (*samples > size) break;
      REQUIRE(endless.at(0, position) == order.at(0, position));
      REQUIRE(endless.at(0, position).sample < *samples);
      REQUIRE(endless.window(0, position) == order.window(0, position));
    }
    if (shuffle.kind == Shuffle::Kind::none) continue;
    CHECK_FALSE(order.samples_for(1, 1));
    CHECK(samples_of(order, 1) == samples_of({Selection::all(size).repeated(times), Shuffle::full(), seed}, 1));
  }
  CHECK_FALSE(EpochOrder(Selection::all(9), Shuffle::full(), 1).samples_for(0, 1));
  CHECK_FALSE(EpochOrder(Selection::all(9), Shuffle::block(), 1).samples_for(0, 1));
}

TEST_CASE("a block shuffle of nothing, and a shuffle of no kind, are refused", "[order]") {
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), {.kind = static_cast<Shuffle::Kind>(5)}, 1), Error);
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), Shuffle::stream(0, 1), 1), Error);
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), Shuffle::stream(std::uint64_t{1} << 30, std::uint64_t{1} << 30), 1),
                  Error);
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), Shuffle::block(0, 1), 1), Error);
  CHECK_THROWS_AS(EpochOrder(Selection::all(5), Shuffle::block(1, 0), 1), Error);
}

}  // namespace bale
