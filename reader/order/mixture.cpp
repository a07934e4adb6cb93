#include "bale/reader/order/mixture.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/permutation.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_most = std::uint64_t{1} << 62;        // samples, deliveries, shares
constexpr std::uint64_t k_most_split = std::uint64_t{1} << 30;  // so that products of two numbers of turns fit 64 bits
constexpr std::uint64_t k_exact_every = 256;
constexpr std::uint64_t k_turns_of_block = 16;

constexpr std::uint64_t k_turn_stream = 0x7475726E;  // "turn", "pass": separate these random numbers from others
constexpr std::uint64_t k_pass_stream = 0x70617373;

void refuse_unless(bool holds, const std::string& what, const std::string& hint = {}) {
  if (!holds) throw Error(ErrorCode::invalid_argument, "mixture: " + what, {.hint = hint});
}

/// Running sums. Throws for a 0 and for a total of 2^62 or more.
std::vector<std::uint64_t> sums_of(const std::vector<std::uint64_t>& numbers, const char* what) {
  std::vector<std::uint64_t> sums;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    refuse_unless(numbers[i] > 0, fmt::format("source {} has {} of 0", i, what));
    refuse_unless(numbers[i] < k_most - sum, fmt::format("{}s of 2^62 or more in total", what));
    sums.push_back(sum += numbers[i]);
  }
  return sums;
}

std::vector<std::uint64_t> without_common_divisor(std::vector<std::uint64_t> shares) {
  std::uint64_t divisor = 0;
  for (const std::uint64_t share : shares) divisor = std::gcd(divisor, share);
  for (std::uint64_t& share : shares) share /= std::max<std::uint64_t>(divisor, 1);
  return shares;
}

/// turns * share / total, rounded down.
std::uint64_t share_of(std::uint64_t turns, std::uint64_t share, std::uint64_t total) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(turns) * share / total);
}

/// What is added before the shares of a half are rounded down.
std::uint64_t rounding_of(std::uint64_t root, std::uint64_t node, std::uint64_t size, std::uint64_t seed) {
  return KeyedRandom{k_turn_stream, seed, root, node}.below(size);
}

/// Number `i` of the differences of running sums.
std::uint64_t difference(const std::vector<std::uint64_t>& sums, std::size_t i) {
  return i == 0 ? sums[0] : sums[i] - sums[i - 1];
}

}  // namespace

Mixture::Mixture(std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> shares, MixtureOptions options)
    : ends_(sums_of(sizes, "a size")),
      shares_(sums_of(without_common_divisor(shares), "a share")),
      options_(std::move(options)) {
  const std::size_t sources = sizes.size();
  refuse_unless(sources > 0, "it has no source");
  if (options_.identities.empty()) {
    options_.identities.resize(sources);
    std::iota(options_.identities.begin(), options_.identities.end(), std::uint64_t{0});
  }
  if (options_.delivered.empty()) options_.delivered.resize(sources);
  refuse_unless(
      shares.size() == sources && options_.identities.size() == sources && options_.delivered.size() == sources,
      fmt::format("{} sources and {} shares", sources, shares.size()));
  std::uint64_t& together = options_.together;
  refuse_unless(together > 0 && together <= k_most_split, fmt::format("{} deliveries together", together));
  std::uint64_t& epoch_samples = options_.epoch_samples;
  if (epoch_samples == 0) epoch_samples = divide_up(ends_.back(), together) * together;
  std::uint64_t& exact_every = options_.exact_every;
  if (exact_every == 0) exact_every = together == 1 ? k_exact_every : k_turns_of_block * together;
  refuse_unless(epoch_samples < k_most, fmt::format("epochs of {}", epoch_samples));
  for (const std::uint64_t number : {epoch_samples, exact_every, options_.begin}) {
    refuse_unless(number % together == 0,
                  fmt::format("{} is not a multiple of the {} deliveries that are of one source", number, together));
  }
  root_ = exact_every / together;
  refuse_unless(root_ <= k_most_split, fmt::format("blocks of {} deliveries", exact_every));
  // With a turn or more of every source in a root, none of its rounded shares is negative.
  unsigned __int128 least = shares_.back();
  for (std::size_t i = 0; i < sources; ++i) least = std::min<unsigned __int128>(least, difference(shares_, i));
  while (root_ * least < shares_.back()) {
    refuse_unless(root_ <= k_most_split / 2, "a share of less than one in 2^30");
    root_ *= 2;
  }
}

std::size_t Mixture::source_of(std::uint64_t sample) const {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), sample) - ends_.begin());
}

/// Running sums of the turns that the sources have of the first `turns`, where those are whole roots.
std::vector<std::uint64_t> Mixture::ends_at(std::uint64_t turns) const {
  std::vector<std::uint64_t> ends;
  ends.reserve(shares_.size());
  for (const std::uint64_t share : shares_) ends.push_back(share_of(turns, share, shares_.back()));
  return ends;
}

Mixture::Delivery Mixture::delivery_at(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) const {
  std::uint64_t number = counted_epoch(epoch) * options_.epoch_samples + position;
  const bool continues = number >= options_.begin;
  if (continues) number -= options_.begin;
  const std::uint64_t turn = number / options_.together;
  const std::uint64_t root = turn / root_;
  std::uint64_t place = turn % root_;
  std::vector<std::uint64_t> before = ends_at(root * root_);
  std::vector<std::uint64_t> inside = ends_at((root + 1) * root_);  // running sums, as `before`
  for (std::size_t i = 0; i < inside.size(); ++i) inside[i] -= before[i];
  std::uint64_t node = 1;
  for (std::uint64_t size = root_; size > 1;) {
    const std::uint64_t half = size / 2;
    const std::uint64_t rounding = rounding_of(root, node, size, seed);
    const bool is_right = place >= half;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const std::uint64_t left = (inside[i] * half + rounding) / size;
      inside[i] = is_right ? inside[i] - left : left;
      if (is_right) before[i] += left;
    }
    if (is_right) place -= half;
    size = is_right ? size - half : half;
    node = 2 * node + (is_right ? 1 : 0);
  }
  Delivery delivery{.source = static_cast<std::size_t>(std::find(inside.begin(), inside.end(), 1) - inside.begin())};
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::uint64_t earlier = continues ? options_.delivered[i] : 0;
    delivery.before.push_back(earlier + difference(before, i) * options_.together);
  }
  delivery.before[delivery.source] += number % options_.together;
  return delivery;
}

/// Of the order of a source's samples in a pass.
std::uint64_t Mixture::pass_key(std::size_t source, std::uint64_t pass, std::uint64_t seed) const {
  return KeyedRandom{k_pass_stream, seed, options_.identities[source], pass}.next();
}

Mixture::Sample Mixture::sample_at(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) const {
  const Delivery delivery = delivery_at(epoch, position, seed);
  Sample found{.source = delivery.source, .first = first_of(delivery.source)};
  const std::uint64_t size = size_of(found.source);
  const std::uint64_t number = delivery.before[found.source];
  found.pass = number / size;
  found.sample = found.first + Permutation(size, pass_key(found.source, found.pass, seed)).at(number % size);
  return found;
}

std::uint64_t Mixture::next_delivery(std::uint64_t sample, std::uint64_t epoch, std::uint64_t position,
                                     std::uint64_t seed) const {
  const Delivery now = delivery_at(epoch, position, seed);
  const std::size_t source = source_of(sample);
  const std::uint64_t size = size_of(source);
  const std::uint64_t done = now.before[source] + (now.source == source ? 1 : 0);
  for (std::uint64_t pass = done / size;; ++pass) {
    const Permutation order(size, pass_key(source, pass, seed));
    const std::uint64_t next = pass * size + order.inverse(sample - first_of(source));
    if (next >= done) return number_of(source, next, seed);
  }
}

/// The turns that a source has of the first `turns`, where those are whole roots.
std::uint64_t Mixture::turns_of(std::size_t source, std::uint64_t turns) const {
  const std::uint64_t total = shares_.back();
  return share_of(turns, shares_[source], total) - (source == 0 ? 0 : share_of(turns, shares_[source - 1], total));
}

/// The number of a source's delivery among those of all sources: the inverse of delivery_at().
std::uint64_t Mixture::number_of(std::size_t source, std::uint64_t delivery, std::uint64_t seed) const {
  delivery -= options_.delivered[source];
  std::uint64_t turn = delivery / options_.together;  // of the source
  const std::uint64_t total = shares_.back();
  const auto share_of_root = static_cast<unsigned __int128>(root_) * difference(shares_, source);  // total, at least
  auto root = static_cast<std::uint64_t>(static_cast<unsigned __int128>(turn) * total / share_of_root);
  if (root >= k_most / root_ / options_.together) return k_most;
  while (turns_of(source, root * root_) > turn) --root;
  while (turns_of(source, (root + 1) * root_) <= turn) ++root;
  turn -= turns_of(source, root * root_);
  // As in delivery_at(), running sums up to before the source, and with it.
  std::array<std::uint64_t, 2> inside{};
  for (const std::size_t with : {0, 1}) {
    if (source + with == 0) continue;
    const std::uint64_t share = shares_[source + with - 1];
    inside[with] = share_of((root + 1) * root_, share, total) - share_of(root * root_, share, total);
  }
  std::uint64_t place = 0;
  std::uint64_t node = 1;
  for (std::uint64_t size = root_; size > 1;) {
    const std::uint64_t half = size / 2;
    const std::uint64_t rounding = rounding_of(root, node, size, seed);
    const std::array<std::uint64_t, 2> left{(inside[0] * half + rounding) / size, (inside[1] * half + rounding) / size};
    const std::uint64_t turns = left[1] - left[0];
    const bool is_right = turn >= turns;
    if (is_right) turn -= turns;
    if (is_right) place += half;
    inside = is_right ? std::array{inside[0] - left[0], inside[1] - left[1]} : left;
    size = is_right ? size - half : half;
    node = 2 * node + (is_right ? 1 : 0);
  }
  return options_.begin + (root * root_ + place) * options_.together + delivery % options_.together;
}

std::vector<std::uint64_t> Mixture::delivered(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed) const {
  return delivery_at(epoch, position, seed).before;
}

std::uint64_t Mixture::max_deliveries() const {
  std::uint64_t most = 1;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const auto deliveries = static_cast<unsigned __int128>(options_.epoch_samples) + 2 * root_ * options_.together;
    const auto share = static_cast<std::uint64_t>(deliveries * difference(shares_, i) / shares_.back());
    most = std::max(most, divide_up(share + 2 * options_.together, difference(ends_, i)) + 1);
  }
  return std::min(most, options_.epoch_samples);
}

std::vector<std::uint64_t> Mixture::parts() const {
  std::vector<std::uint64_t> parts{options_.epoch_samples, options_.exact_every, options_.together, options_.begin};
  for (const auto* list : {&ends_, &shares_, &options_.identities, &options_.delivered}) {
    parts.insert(parts.end(), list->begin(), list->end());
  }
  return parts;
}

}  // namespace bale
