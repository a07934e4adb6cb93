// Mixtures: exact shares, every sample of a source before any repeats, equal ranks, and shares that change.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/mixture.hpp"
#include "bale/reader/order/rank_plan.hpp"
#include "bale/reader/order/selection.hpp"
#include "bale/reader/order/use_clock.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

namespace bale {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t k_seed = 5;

/// The samples of `count` deliveries from the beginning of epoch 0, over as many epochs as that takes.
Numbers stream_of(const Selection& selection, std::uint64_t count, std::uint64_t begin = 0) {
  const EpochOrder order(selection, Shuffle::full(), k_seed);
  Numbers samples;
  for (std::uint64_t number = begin; number < count; ++number) {
    samples.push_back(order.at(number / order.size(), number % order.size()).sample);
  }
  return samples;
}

/// The samples of each source, in the order of their deliveries.
std::vector<Numbers> by_source(const Selection& selection, const Numbers& samples) {
  std::vector<Numbers> sources(selection.mixture()->num_sources());
  for (const std::uint64_t sample : samples) sources.at(selection.mixture()->source_of(sample)).push_back(sample);
  return sources;
}

Numbers counts_of(const Selection& selection, const Numbers& samples) {
  Numbers counts;
  for (const Numbers& source : by_source(selection, samples)) counts.push_back(source.size());
  return counts;
}

bool mixture_refused(const std::function<void()>& call) { return test::throws(ErrorCode::invalid_argument, call); }

Numbers whole(const std::vector<std::string>& texts) {
  std::vector<NamedShare> shares;
  for (const std::string& text : texts) shares.push_back({"web", text});
  return whole_shares(shares);
}

}  // namespace

TEST_CASE("a block of a mixture has its shares, and so has everything up to its end", "[order]") {
  const std::vector<Numbers> lists{{7, 2, 1}, {1, 1}, {3, 1}, {1, 1, 1, 1, 1, 1, 1}, {100, 13, 13, 64}, {5}};
  for (const Numbers& shares : lists) {
    const double total = static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}));
    const Selection selection = Selection::mixture(Numbers(shares.size(), 1000), shares, {.exact_every = 64});
    Numbers counts(shares.size());
    for (std::uint64_t block = 0; block < 60; ++block) {
      const Numbers of_block = counts_of(selection, stream_of(selection, 64 * (block + 1), 64 * block));
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const double share = static_cast<double>(shares[i]) / total;
        counts[i] += of_block[i];
        CHECK(std::abs(static_cast<double>(counts[i]) - share * 64 * static_cast<double>(block + 1)) < 1);
        CHECK(std::abs(static_cast<double>(of_block[i]) - share * 64) < 2);
      }
    }
  }
  const Selection selection = Selection::mixture({1000, 300, 100}, {7, 2, 1}, {.exact_every = 64});
  for (std::uint64_t batch = 0; batch < 100; ++batch) {
    const Numbers counts = counts_of(selection, stream_of(selection, 64 * (batch + 1), 64 * batch));
    CHECK((counts[0] == 44 || counts[0] == 45));
    CHECK((counts[1] == 12 || counts[1] == 13));
    CHECK((counts[2] == 6 || counts[2] == 7));
    if (batch % 10 == 0) {
      CHECK(counts_of(selection, stream_of(selection, 64 * batch + 640, 64 * batch)) == Numbers{448, 128, 64});
    }
  }
}

TEST_CASE("shares of less than one sample per block are kept", "[order]") {
  const Selection selection = Selection::mixture({50, 3, 2}, {5000, 7, 1}, {.exact_every = 16});
  const Numbers counts = counts_of(selection, stream_of(selection, 5008 * 4));
  const Numbers wanted{20000, 28, 4};
  for (std::size_t i = 0; i < 3; ++i) CHECK((counts[i] <= wanted[i] + 1 && wanted[i] <= counts[i] + 1));
  const Mixture& mixture = *selection.mixture();
  for (std::uint64_t position = 1; position < 5008; ++position) {
    const Numbers before = mixture.delivered(0, position - 1, k_seed);
    const Numbers after = mixture.delivered(0, position, k_seed);
    CHECK(std::accumulate(after.begin(), after.end(), std::uint64_t{0}) == position);
    for (std::size_t i = 0; i < 3; ++i) CHECK(after[i] - before[i] <= 1);
  }
}

TEST_CASE("every sample of a source comes once per pass, in another order in each", "[order]") {
  const Numbers sizes{97, 40, 1, 33};
  const Selection selection = Selection::mixture(sizes, {4, 3, 1, 2}, {.epoch_samples = 101, .exact_every = 24});
  const std::vector<Numbers> sources = by_source(selection, stream_of(selection, 101 * 9));  // passes end within epochs
  std::uint64_t first = 0;
  for (std::size_t source = 0; source < sizes.size(); ++source) {
    std::set<Numbers> passes;
    const Numbers& samples = sources[source];
    CHECK(samples.size() >= 3 * sizes[source]);
    for (std::size_t begin = 0; begin + sizes[source] <= samples.size(); begin += sizes[source]) {
      const Numbers pass(samples.begin() + std::ptrdiff_t(begin),
                         samples.begin() + std::ptrdiff_t(begin + sizes[source]));
      passes.insert(pass);
      Numbers sorted = pass;
      std::sort(sorted.begin(), sorted.end());
      Numbers all(sizes[source]);
      std::iota(all.begin(), all.end(), first);
      CHECK(sorted == all);
    }
    CHECK(passes.size() == (sizes[source] == 1 ? 1 : samples.size() / sizes[source]));
    first += sizes[source];
  }
}

TEST_CASE("deliveries of each source are known at every position", "[order]") {
  const Selection selection = Selection::mixture({10, 20, 30}, {3, 4, 2}, {.epoch_samples = 50, .exact_every = 37});
  Numbers counts(3);
  const Numbers samples = stream_of(selection, 400);
  for (std::uint64_t number = 0; number < 400; ++number) {
    CHECK(selection.mixture()->delivered(number / 50, number % 50, k_seed) == counts);
    ++counts[selection.mixture()->source_of(samples[number])];
  }
  CHECK(selection.mixture()->delivered((std::uint64_t{7} << 40) + 1, 3, k_seed) ==
        selection.mixture()->delivered(1, 3, k_seed));  // a further pass of an epoch
}

TEST_CASE("every rank has the shares, whatever the number of ranks", "[order]") {
  for (std::uint64_t world_size = 1; world_size <= 8; ++world_size) {
    for (const Numbers& shares : std::vector<Numbers>{{1, 1}, {1, 3}, {2, 1, 1}}) {
      const Selection selection =
          Selection::mixture(Numbers(shares.size(), 1000), shares, {.epoch_samples = 1 << 20, .exact_every = 64});
      const EpochOrder order(selection, Shuffle::full(), k_seed);
      const double total = static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}));
      for (std::uint64_t rank = 0; rank < world_size; ++rank) {
        const RankPlan plan(order.size(), 0, {.batch_size = 64, .rank = rank, .world_size = world_size});
        Numbers counts(shares.size());
        for (std::uint64_t row = 0; row < 6400; ++row) {
          ++counts[selection.mixture()->source_of(order.at(0, plan.row(row / 64, row % 64).position).sample)];
        }
        for (std::size_t i = 0; i < shares.size(); ++i) {
          const double share = static_cast<double>(shares[i]) / total;
          const double deviation = std::abs(static_cast<double>(counts[i]) - 6400 * share);
          CHECK(deviation <= 4 * std::sqrt(6400 * share * (1 - share)));  // of 1:1, a twentieth
        }
      }
    }
  }
}

TEST_CASE("a mixture that stops on 4 ranks continues on 3", "[order]") {
  const Selection selection = Selection::mixture({5000, 800, 300}, {7, 2, 1}, {.epoch_samples = 40000});
  const EpochOrder order(selection, Shuffle::full(), k_seed);
  Numbers stream;  // of steps of all ranks
  const auto take = [&](std::uint64_t start, std::uint64_t world_size, std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (std::uint64_t row = 0; row < 16; ++row) {
        for (std::uint64_t rank = 0; rank < world_size; ++rank) {
          const RankPlan plan(order.size(), start, {.batch_size = 16, .rank = rank, .world_size = world_size});
          stream.push_back(order.at(0, plan.row(step, row).position).sample);
        }
      }
    }
    return RankPlan(order.size(), start, {.batch_size = 16, .world_size = world_size}).position_after(steps);
  };
  const std::uint64_t stopped = take(0, 4, 137);
  CHECK(stopped == 137 * 64);
  const std::uint64_t end = take(stopped, 3, 100);
  CHECK(end == stream.size());
  CHECK(stream == stream_of(selection, stream.size()));
}

TEST_CASE("with other shares each source continues where it was", "[order]") {
  const Numbers sizes{70, 200, 31};
  const MixtureOptions options{.epoch_samples = 300, .exact_every = 64, .identities = {11, 22, 33}};
  const Selection before = Selection::mixture(sizes, {7, 2, 1}, options);
  for (const std::uint64_t changed : {0, 64, 137, 299, 300, 777}) {  // also within blocks and epochs
    MixtureOptions continued = options;
    continued.begin = changed;
    continued.delivered = before.mixture()->delivered(changed / 300, changed % 300, k_seed);
    const Selection after = Selection::mixture(sizes, {1, 1, 5}, continued);
    CHECK(after.mixture()->delivered(changed / 300, changed % 300, k_seed) == continued.delivered);
    Numbers samples = stream_of(before, changed);
    const Numbers rest = stream_of(after, changed + 1000, changed);
    CHECK(counts_of(after, Numbers(rest.begin(), rest.begin() + 448)) == Numbers{64, 64, 320});
    samples.insert(samples.end(), rest.begin(), rest.end());
    const std::vector<Numbers> sources = by_source(after, samples);
    const std::vector<Numbers> undisturbed = by_source(before, stream_of(before, 20000));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      CHECK(sources[i] == Numbers(undisturbed[i].begin(), undisturbed[i].begin() + std::ptrdiff_t(sources[i].size())));
    }
    CHECK(before.fingerprint() != after.fingerprint());
  }
}

TEST_CASE("the next use of a mixture's sample is its next delivery", "[order]") {
  struct Case {
    Numbers sizes;
    Numbers shares;
    MixtureOptions options;
  };
  const std::vector<Case> cases{
      {{70, 20, 9}, {7, 2, 1}, {.epoch_samples = 50, .exact_every = 37}},
      {{30, 1}, {200, 1}, {.epoch_samples = 300, .exact_every = 16}},
      {{40, 40}, {1, 1}, {.epoch_samples = 96, .exact_every = 64, .together = 16}},
      {{25, 13, 8}, {1, 5, 2}, {.epoch_samples = 64, .exact_every = 64, .begin = 150, .delivered = {100, 30, 20}}}};
  for (const Case& one : cases) {
    const Selection selection = Selection::mixture(one.sizes, one.shares, one.options);
    const UseClock clock({selection, Shuffle::full(), k_seed}, 77);
    REQUIRE(clock.knows());
    const Mixture& mixture = *selection.mixture();
    const std::uint64_t epoch_samples = selection.size();
    const Numbers samples = stream_of(selection, one.options.begin + 6000, one.options.begin);
    std::map<std::uint64_t, std::uint64_t> next;
    std::uint64_t checked = 0;
    for (std::uint64_t i = samples.size(); i-- > 0;) {
      const std::uint64_t number = one.options.begin + i;
      if (i < 1000) {
        for (const auto& [sample, at] : next) {
          REQUIRE(mixture.next_delivery(sample, number / epoch_samples, number % epoch_samples, k_seed) == at);
          ++checked;
        }
        const NextUse use = *clock.next_use(samples[i], number / epoch_samples, number % epoch_samples);
        CHECK(use.now < use.time);
        CHECK(use.time <= use.now + 3 * NextUse::k_epoch + 1);
        CHECK(use.now == clock.time(number / epoch_samples, number % epoch_samples));
      }
      next[samples[i]] = number;
    }
    CHECK(checked == 1000 * mixture.size());
  }
}

TEST_CASE("a mixture draws for a sample as its source alone does", "[order]") {
  const Selection selection =
      Selection::mixture({70, 20}, {3, 2}, {.epoch_samples = 50, .begin = 35, .delivered = {20, 15}});
  const EpochOrder order(selection, Shuffle::full(), k_seed);
  Numbers delivered{20, 15};
  for (std::uint64_t number = 35; number < 800; ++number) {
    const Pick pick = order.at(number / 50, number % 50);
    CHECK(pick.source == selection.mixture()->source_of(pick.sample));
    CHECK(pick.first == pick.source * 70);
    CHECK(pick.pass == delivered[pick.source]++ / (pick.source == 0 ? 70 : 20));
    CHECK(pick.copy == 0);
  }
}

TEST_CASE("the order of a source depends on its identity, not on its number", "[order]") {
  const Selection one = Selection::mixture({60, 90}, {1, 2}, {.identities = {8, 9}});
  const Selection other = Selection::mixture({90, 60}, {2, 1}, {.identities = {9, 8}});
  Numbers first = by_source(one, stream_of(one, 1500))[0];
  Numbers second = by_source(other, stream_of(other, 1500))[1];
  for (std::uint64_t& sample : second) sample -= 90;
  const std::size_t both = std::min(first.size(), second.size());
  first.resize(both);
  second.resize(both);
  CHECK(first == second);
  const Selection numbered = Selection::mixture({60, 90}, {1, 2});
  CHECK(by_source(numbered, stream_of(numbered, 1500))[0] != by_source(one, stream_of(one, 1500))[0]);
}

TEST_CASE("consecutive deliveries may be of one source", "[order]") {
  const Selection selection =
      Selection::mixture({100, 100, 100}, {2, 1, 1}, {.epoch_samples = 96, .exact_every = 64, .together = 16});
  const Numbers samples = stream_of(selection, 960);
  CHECK(counts_of(selection, samples) == Numbers{480, 240, 240});
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t block = 0; block < samples.size(); block += 64) {
    std::vector<std::size_t> order;
    for (std::size_t batch = block; batch < block + 64; batch += 16) {
      const Numbers of_batch(samples.begin() + std::ptrdiff_t(batch), samples.begin() + std::ptrdiff_t(batch + 16));
      const Numbers counts = counts_of(selection, of_batch);
      CHECK(std::count(counts.begin(), counts.end(), 16) == 1);
      order.push_back(std::size_t(std::find(counts.begin(), counts.end(), 16) - counts.begin()));
    }
    orders.insert(order);
  }
  CHECK(orders.size() > 3);
  CHECK(std::set<std::uint64_t>(samples.begin(), samples.begin() + 200).size() == 200);
  CHECK(Selection::mixture({100, 3}, {1, 1}, {.together = 16}).size() == 112);
}

TEST_CASE("no sample of a mixture comes more often in an epoch than max_deliveries", "[order]") {
  for (const std::uint64_t epoch_samples : {10, 64, 1000}) {
    const Selection selection = Selection::mixture({50, 3}, {3, 1}, {.epoch_samples = epoch_samples});
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::map<std::uint64_t, std::uint64_t> counts;
      for (const std::uint64_t sample : stream_of(selection, epoch_samples * (epoch + 1), epoch_samples * epoch)) {
        CHECK(++counts[sample] <= selection.max_deliveries());
      }
    }
    CHECK(selection.max_deliveries() <= epoch_samples);
  }
}

TEST_CASE("shares that are texts are read exactly", "[order]") {
  CHECK(whole({"7", "2", "1"}) == Numbers{7, 2, 1});
  CHECK(whole({"70", "20", "10"}) == Numbers{7, 2, 1});
  CHECK(whole({"0.7", "0.2", "0.1"}) == Numbers{7, 2, 1});
  CHECK(whole({"0.70", ".3"}) == Numbers{7, 3});
  CHECK(whole({"1/3", "2/3"}) == Numbers{1, 2});
  CHECK(whole({"1e-05", "1"}) == Numbers{1, 100000});
  CHECK(whole({"1E+2", "1.5e1", "2."}) == Numbers{100, 15, 2});
  CHECK(whole({"0.15", "0.85"}) == Numbers{3, 17});
  for (const char* text : {"0", "0.0", "-1", "nan", "inf", "", "x", "1/0", "0/5", "1e99", "1 ", "0x7", "1..2", "."}) {
    CHECK(mixture_refused([&] { whole({"1", text}); }));
    CHECK(test::message_of([&] { whole({"1", text}); }).find("'web'") != std::string::npos);
  }
  CHECK(mixture_refused([] { whole({"0.00000000000000001", "4000000000000000000"}); }));
}

TEST_CASE("mixtures that cannot be are refused", "[order]") {
  using Make = std::function<void()>;
  const std::vector<Make> wrong{
      [] { Selection::mixture({}, {}); },
      [] {
        Selection::mixture({5, 5}, {1});
      },
      [] {
        Selection::mixture({5, 0}, {1, 1});
      },
      [] {
        Selection::mixture({5, 5}, {1, 0});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}, {.identities = {1}});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}, {.delivered = {1}});
      },
      [] {
        Selection::mixture({5, std::uint64_t{1} << 62}, {1, 1});
      },
      [] {
        Selection::mixture({5, 5}, {(std::uint64_t{1} << 61) + 1, std::uint64_t{1} << 61});
      },
      [] {
        Selection::mixture({5, 5}, {1, std::uint64_t{1} << 33});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}, {.together = 0});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}, {.epoch_samples = 10, .together = 4});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}, {.exact_every = 6, .together = 4});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}, {.exact_every = std::uint64_t{1} << 31});
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}).repeated(2);
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}).sorted();
      },
      [] {
        Selection::mixture({5, 5}, {1, 1}).deliveries_of(0);
      },
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    INFO(i);
    CHECK(mixture_refused(wrong[i]));
  }
  CHECK(Selection::mixture({5, 5}, {7, 3}).fingerprint() == Selection::mixture({5, 5}, {70, 30}).fingerprint());
  CHECK(Selection::mixture({5, 5}, {7, 3}).fingerprint() != Selection::mixture({5, 5}, {7, 2}).fingerprint());
  CHECK(Selection::mixture({5, 5}, {7, 3}).fingerprint() != Selection::mixture({4, 6}, {7, 3}).fingerprint());
}

}  // namespace bale
