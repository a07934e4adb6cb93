// A random subset of a source: the samples whose keys have the lowest hashes.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/choose/sampled_source.hpp"

namespace bale {
namespace {

// First part of the random keys; plan.cpp has those of shuffling and splitting.
constexpr std::uint64_t k_sample_stream = 3;

struct Lot {
  std::int64_t label;  // 0 unless classes are drawn apart
  std::uint64_t number;
  std::uint64_t sample;

  bool operator<(const Lot& other) const {
    if (label != other.label) return label < other.label;
    return number != other.number ? number < other.number : sample < other.sample;
  }
};

std::uint64_t count_of(const SampleDraw& draw, std::uint64_t size) {
  if (draw.fraction == 0) return std::min(draw.count, size);
  const auto rounded = static_cast<std::uint64_t>(std::llround(draw.fraction * static_cast<double>(size)));
  return std::clamp<std::uint64_t>(rounded, 1, size);
}

}  // namespace

std::unique_ptr<Source> draw_samples(std::unique_ptr<Source> source, const SampleDraw& draw) {
  if (!(draw.fraction >= 0 && draw.fraction <= 1)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} is not a fraction of the samples", draw.fraction));
  }
  if (draw.takes_all() || source->size() == 0) return source;
  std::vector<Lot> lots(source->size());
  SourceSample sample;
  for (std::uint64_t i = 0; i < lots.size(); ++i) {
    source->describe(i, sample);
    KeyedRandom random{k_sample_stream, draw.seed, hash_key(sample.key)};
    lots[i] = {draw.per_class ? sample.label : 0, random.next(), i};
  }
  std::sort(lots.begin(), lots.end());
  std::vector<std::uint64_t> chosen;
  for (auto group = lots.begin(); group != lots.end();) {
    const auto end = std::find_if(group, lots.end(), [&](const Lot& lot) { return lot.label != group->label; });
    const std::uint64_t count = count_of(draw, static_cast<std::uint64_t>(end - group));
    for (std::uint64_t i = 0; i < count; ++i) chosen.push_back(group[static_cast<std::ptrdiff_t>(i)].sample);
    group = end;
  }
  std::sort(chosen.begin(), chosen.end());
  return choose_samples(std::move(source), std::move(chosen));
}

}  // namespace bale
