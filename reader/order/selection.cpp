#include "bale/reader/order/selection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {
namespace {

constexpr double k_one = 9007199254740992.0;  // 2^53: every multiple of 1/k_one up to 1 is a double
constexpr unsigned k_unused_bits = 64 - 53;

double largest_weight(std::span<const double> weights) {
  double largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      throw Error(ErrorCode::invalid_argument, fmt::format("weight {} is {}: not a number from 0 up", i, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (!(largest > 0)) throw Error(ErrorCode::invalid_argument, "no weight is above 0");
  return largest;
}

}  // namespace

namespace selection_detail {

enum class Kind : std::uint8_t { all, subset, weighted, class_balanced, mixture };

/// Combines values into one hash.
class Hash {
 public:
  void add(std::uint64_t value) { state_ = mix64(state_ * 0x9E3779B97F4A7C15ULL + mix64(value + 1)); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x62616C65;
};

/// Draws from a list of weights in O(1) (Walker 1977, built as in Vose, "A linear algorithm for generating
/// random numbers with a given distribution", IEEE TSE 1991).
///
/// Immutable once built; safe in any thread. Built with + - * / of doubles only, without contraction (a build option),
/// so the same weights give the same table everywhere.
class AliasTable {
 public:
  AliasTable() = default;
  /// Throws `invalid_argument` for weights that are negative, not finite, or all zero.
  explicit AliasTable(std::span<const double> weights);

  /// Precondition: built from weights.
  std::uint64_t draw(KeyedRandom& random) const;

 private:
  struct Column {
    std::uint64_t threshold = 0;  // out of 2^53; a draw below it is the column itself
    std::uint64_t alias = 0;
  };
  std::vector<Column> columns_;
};

AliasTable::AliasTable(std::span<const double> weights) : columns_(weights.size()) {
  // Weights are relative to the largest, so that their sum cannot overflow.
  const double largest = largest_weight(weights);
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;

  std::vector<double> share(weights.size());  // of a column's height; 1 on average
  std::vector<std::uint64_t> below;
  std::vector<std::uint64_t> above;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    share[i] = weights[i] / largest * static_cast<double>(weights.size()) / sum;
    (share[i] < 1 ? below : above).push_back(i);
  }
  while (!below.empty() && !above.empty()) {
    const std::uint64_t small = below.back();
    const std::uint64_t large = above.back();
    below.pop_back();
    columns_[small] = {static_cast<std::uint64_t>(share[small] * k_one), large};
    share[large] = (share[large] + share[small]) - 1;
    if (share[large] < 1) {
      above.pop_back();
      below.push_back(large);
    }
  }
  // Columns that rounding left over are drawn as themselves, unless their weight is 0.
  const auto heaviest = static_cast<std::uint64_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (const std::vector<std::uint64_t>* rest : {&below, &above}) {
    for (const std::uint64_t i : *rest) {
      columns_[i] = {weights[i] > 0 ? static_cast<std::uint64_t>(k_one) : 0, heaviest};
    }
  }
}

std::uint64_t AliasTable::draw(KeyedRandom& random) const {
  const std::uint64_t i = random.below(columns_.size());
  const Column& column = columns_[i];
  return (random.next() >> k_unused_bits) < column.threshold ? i : column.alias;
}

}  // namespace selection_detail

using selection_detail::AliasTable;
using selection_detail::Hash;
using selection_detail::Kind;

namespace {

constexpr std::uint64_t k_draw_stream = 0x64726177;  // "draw": separates these random numbers from a shuffle's

std::string name_of_drawing(Kind kind) {
  return kind == Kind::mixture ? "a mixture" : "a selection that draws with replacement";
}

/// Numbers of the samples, sorted by sample and then by number.
std::vector<std::uint64_t> sorted_by_sample(const std::vector<std::uint64_t>& samples) {
  std::vector<std::uint64_t> by_sample(samples.size());
  std::iota(by_sample.begin(), by_sample.end(), std::uint64_t{0});
  std::sort(by_sample.begin(), by_sample.end(), [&](std::uint64_t a, std::uint64_t b) {
    return samples[a] != samples[b] ? samples[a] < samples[b] : a < b;
  });
  return by_sample;
}

/// How often samples[i] occurs before i; empty if no sample occurs twice.
std::vector<std::uint64_t> occurrences_before(const std::vector<std::uint64_t>& samples) {
  const std::vector<std::uint64_t> by_sample = sorted_by_sample(samples);
  std::vector<std::uint64_t> copies(samples.size());
  bool any = false;
  for (std::size_t i = 1; i < by_sample.size(); ++i) {
    if (samples[by_sample[i]] != samples[by_sample[i - 1]]) continue;
    copies[by_sample[i]] = copies[by_sample[i - 1]] + 1;
    any = true;
  }
  if (!any) copies.clear();
  return copies;
}

}  // namespace

struct Selection::Tables {
  Kind kind = Kind::all;
  std::uint64_t size = 0;
  std::uint64_t dataset_size = 0;
  std::vector<std::uint64_t> samples{};      // subset: the list; class_balanced: labeled samples, by class
  std::vector<std::uint64_t> copies{};       // subset, if samples occur twice
  std::vector<std::uint64_t> class_begin{};  // class_balanced: offsets into `samples`, one more than classes
  AliasTable alias{};                        // weighted
  std::optional<Mixture> mixture{};
  Hash hash{};
  mutable std::once_flag sorted{};
  mutable std::vector<std::uint64_t> by_sample{};  // subset: numbers of `samples`, sorted by sample; see sorted
};

Selection::Selection(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}

Selection Selection::all(std::uint64_t size) {
  auto tables = std::make_shared<Tables>();
  tables->size = size;
  tables->dataset_size = size;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(Kind::all), size}) tables->hash.add(part);
  return Selection(std::move(tables));
}

Selection Selection::subset(std::vector<std::uint64_t> samples, std::uint64_t size) {
  auto tables = std::make_shared<Tables>();
  tables->kind = Kind::subset;
  tables->size = samples.size();
  tables->dataset_size = size;
  tables->hash.add(static_cast<std::uint64_t>(Kind::subset));
  tables->hash.add(size);
  for (const std::uint64_t sample : samples) {
    if (sample >= size) {
      throw Error(ErrorCode::invalid_argument, fmt::format("sample {} of a dataset of {}", sample, size));
    }
    tables->hash.add(sample);
  }
  tables->copies = occurrences_before(samples);
  tables->samples = std::move(samples);
  return Selection(std::move(tables));
}

Selection Selection::weighted(std::span<const double> weights, std::uint64_t num_draws) {
  auto tables = std::make_shared<Tables>();
  tables->kind = Kind::weighted;
  tables->size = num_draws;
  tables->dataset_size = weights.size();
  tables->alias = AliasTable(weights);
  tables->hash.add(static_cast<std::uint64_t>(Kind::weighted));
  tables->hash.add(num_draws);
  for (const double weight : weights) tables->hash.add(std::bit_cast<std::uint64_t>(weight));
  return Selection(std::move(tables));
}

Selection Selection::class_balanced(std::span<const std::int64_t> labels, std::uint64_t num_draws) {
  auto tables = std::make_shared<Tables>();
  tables->kind = Kind::class_balanced;
  tables->size = num_draws;
  tables->dataset_size = labels.size();
  tables->hash.add(static_cast<std::uint64_t>(Kind::class_balanced));
  tables->hash.add(num_draws);
  std::vector<std::uint64_t>& samples = tables->samples;
  for (std::uint64_t i = 0; i < labels.size(); ++i) {
    tables->hash.add(static_cast<std::uint64_t>(labels[i]));
    if (labels[i] != k_no_label) samples.push_back(i);
  }
  if (samples.empty()) throw Error(ErrorCode::invalid_argument, "no sample has a label to balance by");
  std::sort(samples.begin(), samples.end(),
            [&](std::uint64_t a, std::uint64_t b) { return labels[a] != labels[b] ? labels[a] < labels[b] : a < b; });
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || labels[samples[i]] != labels[samples[i - 1]]) tables->class_begin.push_back(i);
  }
  tables->class_begin.push_back(samples.size());
  return Selection(std::move(tables));
}

Selection Selection::mixture(std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> shares,
                             MixtureOptions options) {
  auto tables = std::make_shared<Tables>();
  tables->kind = Kind::mixture;
  tables->mixture.emplace(std::move(sizes), std::move(shares), std::move(options));
  tables->size = tables->mixture->epoch_samples();
  tables->dataset_size = tables->mixture->size();
  tables->hash.add(static_cast<std::uint64_t>(Kind::mixture));
  for (const std::uint64_t part : tables->mixture->parts()) tables->hash.add(part);
  return Selection(std::move(tables));
}

Selection Selection::repeated(std::uint64_t times) const {
  if (times == 0) throw Error(ErrorCode::invalid_argument, "a selection repeated 0 times is empty");
  if (draws()) {
    throw Error(ErrorCode::invalid_argument, name_of_drawing(tables_->kind) + " cannot be repeated",
                {.hint = "ask for more deliveries"});
  }
  if (size() > std::numeric_limits<std::uint64_t>::max() / 2 / times) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} deliveries repeated {} times are too many", size(), times));
  }
  Selection result = *this;
  result.times_ *= times;
  return result;
}

Selection Selection::sorted() const {
  if (draws()) {
    throw Error(ErrorCode::invalid_argument, name_of_drawing(tables_->kind) + " has no order of the dataset");
  }
  const std::vector<std::uint64_t>& listed = tables_->samples;
  if (tables_->kind == Kind::all || std::is_sorted(listed.begin(), listed.end())) return *this;
  std::vector<std::uint64_t> samples = listed;
  std::sort(samples.begin(), samples.end());
  Selection result = subset(std::move(samples), tables_->dataset_size);
  result.times_ = times_;
  return result;
}

std::uint64_t Selection::max_deliveries() const {
  if (mixture() != nullptr) return mixture()->max_deliveries();
  if (draws()) return size();
  const auto& copies = tables_->copies;
  return times_ * (copies.empty() ? 1 : *std::max_element(copies.begin(), copies.end()) + 1);
}

std::uint64_t Selection::dataset_size() const { return tables_->dataset_size; }

std::uint64_t Selection::size() const { return tables_->size * times_; }

bool Selection::draws() const { return tables_->kind != Kind::all && tables_->kind != Kind::subset; }

const Mixture* Selection::mixture() const { return tables_->mixture ? &*tables_->mixture : nullptr; }

Pick Selection::at(std::uint64_t item, std::uint64_t seed, std::uint64_t epoch) const {
  const Tables& tables = *tables_;
  if (tables.mixture) {
    const Mixture::Sample mixed = tables.mixture->sample_at(epoch, item, seed);
    return {.sample = mixed.sample, .source = mixed.source, .first = mixed.first, .pass = mixed.pass};
  }
  if (draws()) {
    KeyedRandom random{k_draw_stream, seed, epoch, item};
    if (tables.kind == Kind::weighted) return {tables.alias.draw(random), item};
    const std::uint64_t label = random.below(tables.class_begin.size() - 1);
    const std::uint64_t begin = tables.class_begin[label];
    return {tables.samples[begin + random.below(tables.class_begin[label + 1] - begin)], item};
  }
  const std::uint64_t delivery = times_ == 1 ? item : item / times_;
  const std::uint64_t earlier = tables.copies.empty() ? 0 : tables.copies[delivery];
  return {tables.kind == Kind::all ? delivery : tables.samples[delivery],
          earlier * times_ + (item - delivery * times_)};
}

std::vector<std::uint64_t> Selection::deliveries_of(std::uint64_t sample) const {
  if (draws()) throw Error(ErrorCode::invalid_argument, "the deliveries of a sample are drawn again in each epoch");
  const Tables& tables = *tables_;
  if (tables.kind == Kind::all) return {sample};
  std::call_once(tables.sorted, [&] { tables.by_sample = sorted_by_sample(tables.samples); });
  const auto is_less = [&](std::uint64_t n, std::uint64_t wanted) { return tables.samples[n] < wanted; };
  const auto begin = std::lower_bound(tables.by_sample.begin(), tables.by_sample.end(), sample, is_less);
  auto end = begin;
  while (end != tables.by_sample.end() && tables.samples[*end] == sample) ++end;
  return {begin, end};
}

std::uint64_t Selection::deliveries_below(std::uint64_t sample) const {
  const Tables& tables = *tables_;
  if (tables.kind == Kind::all) return std::min(sample, tables.size) * times_;
  const auto end = std::lower_bound(tables.samples.begin(), tables.samples.end(), sample);
  return static_cast<std::uint64_t>(end - tables.samples.begin()) * times_;
}

std::uint64_t Selection::fingerprint() const {
  Hash hash = tables_->hash;
  hash.add(times_);
  return hash.value();
}

}  // namespace bale
