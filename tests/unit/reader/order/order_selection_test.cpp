// Which samples make up an epoch: lists, draws by weight and by class, repeats.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/reader/order/selection.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

namespace bale {
namespace {

std::vector<Pick> picks(const Selection& selection, std::uint64_t seed = 1, std::uint64_t epoch = 0) {
  std::vector<Pick> result;
  for (std::uint64_t i = 0; i < selection.size(); ++i) result.push_back(selection.at(i, seed, epoch));
  return result;
}

std::vector<std::uint64_t> counts_of(const Selection& selection, std::uint64_t size, std::uint64_t epoch = 0) {
  std::vector<std::uint64_t> counts(size);
  for (const Pick& pick : picks(selection, 11, epoch)) ++counts.at(pick.sample);
  return counts;
}

/// Whether `count` of `draws` fits a probability, within 4.5 standard deviations.
bool fits(std::uint64_t count, std::uint64_t draws, double probability) {
  const double mean = static_cast<double>(draws) * probability;
  return std::abs(static_cast<double>(count) - mean) <= 4.5 * std::sqrt(mean * (1 - probability)) + 1e-9;
}

bool refused(const std::function<void()>& call) { return test::throws(ErrorCode::invalid_argument, call); }

}  // namespace

TEST_CASE("all and subset give their samples in order", "[order]") {
  CHECK(picks(Selection::all(3)) == std::vector<Pick>{{0, 0}, {1, 0}, {2, 0}});
  CHECK(Selection::all(0).size() == 0);
  CHECK(picks(Selection::subset({5, 2, 9}, 10)) == std::vector<Pick>{{5, 0}, {2, 0}, {9, 0}});
  CHECK(picks(Selection::subset({5, 2, 5, 5, 2}, 10)) == std::vector<Pick>{{5, 0}, {2, 0}, {5, 1}, {5, 2}, {2, 1}});
  CHECK_FALSE(Selection::all(3).draws());
  CHECK(refused([] { Selection::subset({1, 10}, 10); }));
}

TEST_CASE("repeats lie side by side and every copy has a number of its own", "[order]") {
  CHECK(picks(Selection::all(2).repeated(3)) == std::vector<Pick>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
  CHECK(Selection::all(5).repeated(2).repeated(3).size() == 30);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const Pick& pick : picks(Selection::subset({7, 7, 1}, 8).repeated(4))) seen.insert({pick.sample, pick.copy});
  CHECK(seen.size() == 12);
  CHECK(seen.rbegin()->second == 7);
  CHECK(refused([] { Selection::all(5).repeated(0); }));
  CHECK(refused([] { Selection::all(1 << 20).repeated(std::uint64_t{1} << 50); }));
  const std::vector<double> weights{1, 2};
  CHECK(refused([&] { Selection::weighted(weights, 5).repeated(2); }));
}

TEST_CASE("weighted draws follow their weights", "[order]") {
  const std::vector<double> weights{1, 0, 2, 3.5, 0.001, 10, 0};
  constexpr std::uint64_t k_draws = 200000;
  const Selection selection = Selection::weighted(weights, k_draws);
  CHECK(selection.draws());
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto counts = counts_of(selection, weights.size(), epoch);
    for (std::size_t i = 0; i < weights.size(); ++i) CHECK(fits(counts[i], k_draws, weights[i] / 16.501));
  }
}

TEST_CASE("weights of any magnitude are drawn from", "[order]") {
  for (const double scale : {1e-320, 1e-300, 1.0, 1e307}) {
    const std::vector<double> weights{scale, 3 * scale, 0, 4 * scale};
    const auto counts = counts_of(Selection::weighted(weights, 20000), 4);
    CHECK(fits(counts[0], 20000, 0.125));
    CHECK(fits(counts[1], 20000, 0.375));
    CHECK(counts[2] == 0);
  }
  // Equal weights whose shares round to a little less than 1, with ones that must never come up between them.
  std::vector<double> weights(3000);
  for (std::size_t i = 0; i < weights.size(); i += 3) weights[i] = 0.1;
  const auto counts = counts_of(Selection::weighted(weights, 100000), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK((counts[i] > 0) == (i % 3 == 0));
  const std::vector<double> one{5};
  CHECK(counts_of(Selection::weighted(one, 10), 1)[0] == 10);
}

TEST_CASE("weights that say nothing are refused", "[order]") {
  for (const std::vector<double>& weights :
       {std::vector<double>{}, {0, 0}, {1, -1}, {1, std::numeric_limits<double>::infinity()}, {1, std::nan("")}}) {
    CHECK(refused([&] { Selection::weighted(weights, 5); }));
  }
}

TEST_CASE("class-balanced draws take every class alike and every sample of it alike", "[order]") {
  const std::vector<std::int64_t> labels{4, k_no_label, 4, 4, 4, -2, k_no_label, 1000000, 1000000};
  constexpr std::uint64_t k_draws = 90000;
  const Selection selection = Selection::class_balanced(labels, k_draws);
  CHECK(selection.draws());
  const auto counts = counts_of(selection, labels.size());
  const std::vector<double> expected{1. / 12, 0, 1. / 12, 1. / 12, 1. / 12, 1. / 3, 0, 1. / 6, 1. / 6};
  for (std::size_t i = 0; i < labels.size(); ++i) CHECK(fits(counts[i], k_draws, expected[i]));
  const std::vector<std::int64_t> none{k_no_label, k_no_label};
  CHECK(refused([&] { Selection::class_balanced(none, 5); }));
}

TEST_CASE("draws differ by seed and epoch and tell their copies apart", "[order]") {
  const std::vector<double> weights(100, 1.0);
  const Selection selection = Selection::weighted(weights, 1000);
  const auto same = [&](std::uint64_t seed, std::uint64_t epoch) {
    const auto base = picks(selection, 1, 0);
    const auto other = picks(selection, seed, epoch);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < base.size(); ++i) count += base[i].sample == other[i].sample ? 1 : 0;
    return count;
  };
  CHECK(same(1, 0) == 1000);
  CHECK(same(1, 1) < 40);  // ten on average
  CHECK(same(2, 0) < 40);
  CHECK(same(0, 1) < 40);
  std::set<std::uint64_t> copies;
  for (const Pick& pick : picks(selection)) copies.insert(pick.copy);
  CHECK(copies.size() == 1000);
}

TEST_CASE("another selection has another fingerprint", "[order]") {
  const std::vector<double> weights{1, 2, 3};
  const std::vector<double> other_weights{1, 2, 4};
  const std::vector<std::int64_t> labels{1, 2, 3};
  const std::vector<Selection> selections{Selection::all(3),
                                          Selection::all(4),
                                          Selection::subset({0, 1, 2}, 3),
                                          Selection::subset({0, 1, 2}, 4),
                                          Selection::subset({0, 2, 1}, 3),
                                          Selection::subset({0, 1}, 3),
                                          Selection::weighted(weights, 3),
                                          Selection::weighted(weights, 4),
                                          Selection::weighted(other_weights, 3),
                                          Selection::class_balanced(labels, 3),
                                          Selection::all(3).repeated(2),
                                          Selection::all(6)};
  std::set<std::uint64_t> fingerprints;
  for (const Selection& selection : selections) fingerprints.insert(selection.fingerprint());
  CHECK(fingerprints.size() == selections.size());
  CHECK(Selection::subset({0, 1}, 3).fingerprint() == Selection::subset({0, 1}, 3).fingerprint());
}

}  // namespace bale

TEST_CASE("The most often that a sample can come up in an epoch") {
  CHECK(bale::Selection::all(5).max_deliveries() == 1);
  CHECK(bale::Selection::all(5).repeated(3).max_deliveries() == 3);
  CHECK(bale::Selection::subset({4, 1, 4, 4}, 5).max_deliveries() == 3);
  CHECK(bale::Selection::subset({4, 1, 2}, 5).repeated(2).max_deliveries() == 2);
  const std::vector<double> weights{1, 0, 2};
  CHECK(bale::Selection::weighted(weights, 7).max_deliveries() == 7);
}
