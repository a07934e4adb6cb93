#include "bale/writer/source/choose/chosen_source.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

/// Numbers of samples with one key.
struct KeyRepeat {
  std::uint64_t first;
  std::uint64_t repeat;
};

std::string key_of_sample(const Source& source, std::uint64_t i) {
  SourceSample sample;
  source.describe(i, sample);
  return std::move(sample.key);
}

/// Every sample whose key an earlier one has, in the source's order.
std::vector<KeyRepeat> key_repeats(const Source& source) {
  struct Hashed {
    std::uint64_t hash;
    std::uint64_t sample;
  };
  std::vector<Hashed> hashes(source.size());
  SourceSample sample;
  for (std::uint64_t i = 0; i < hashes.size(); ++i) {
    source.describe(i, sample);
    hashes[i] = {hash_key(sample.key), i};
  }
  std::sort(hashes.begin(), hashes.end(),
            [](const Hashed& a, const Hashed& b) { return a.hash != b.hash ? a.hash < b.hash : a.sample < b.sample; });
  std::vector<KeyRepeat> repeats;
  for (std::size_t begin = 0, end = 0; begin < hashes.size(); begin = end) {
    while (end < hashes.size() && hashes[end].hash == hashes[begin].hash) ++end;
    if (end - begin == 1) continue;
    std::vector<std::pair<std::string, std::uint64_t>> known;  // more than one if keys have equal hashes
    for (std::size_t i = begin; i < end; ++i) {
      std::string key = key_of_sample(source, hashes[i].sample);
      const auto first = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == key; });
      if (first == known.end()) {
        known.emplace_back(std::move(key), hashes[i].sample);
      } else {
        repeats.push_back({first->second, hashes[i].sample});
      }
    }
  }
  std::sort(repeats.begin(), repeats.end(), [](const KeyRepeat& a, const KeyRepeat& b) { return a.repeat < b.repeat; });
  return repeats;
}

}  // namespace

void require_unique_keys(const Source& source) {
  constexpr std::size_t k_max_named = 100;
  const std::vector<KeyRepeat> repeats = key_repeats(source);
  if (repeats.empty()) return;
  std::string pairs;
  for (std::size_t i = 0; i < std::min(repeats.size(), k_max_named); ++i) {
    pairs += fmt::format("{}{} and {}", i == 0 ? "" : ", ", printable(source.origin(repeats[i].first)),
                         printable(source.origin(repeats[i].repeat)));
  }
  if (repeats.size() > k_max_named) pairs += fmt::format(", and {} more pairs", repeats.size() - k_max_named);
  const bool are_files = !source.files(repeats.front().first).empty();
  throw Error(
      ErrorCode::invalid_argument, fmt::format("{} would have the same key", pairs),
      {.key = key_of_sample(source, repeats.front().first),
       .hint = are_files ? "keep all with `keep_extensions` if only the extensions differ, the first of each key with "
                           "`on_error` skip, or make them one sample with `pair`; or rename one, or leave one out with "
                           "`exclude`"
                         : "keep the first of each key with `on_error` skip, or leave one out with `exclude`"});
}

std::unique_ptr<Source> leave_out_repeated_keys(std::unique_ptr<Source> source) {
  const std::vector<KeyRepeat> repeats = key_repeats(*source);
  if (repeats.empty()) return source;
  std::vector<std::uint64_t> chosen;
  std::vector<SourceLoss> losses;
  auto next = repeats.begin();
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    if (next == repeats.end() || next->repeat != i) {
      chosen.push_back(i);
      continue;
    }
    losses.push_back({.path = source->origin(i),
                      .why = fmt::format("has the key of {}", printable(source->origin(next->first))),
                      .num_samples = 1,
                      .files = source->files(i)});
    ++next;
  }
  return choose_samples(std::move(source), std::move(chosen), std::move(losses));
}

}  // namespace bale
