#include "bale/tools/survey/survey_summary.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace bale {
namespace {

constexpr std::uint64_t k_max_bins = 24;
constexpr std::size_t k_max_common_sizes = 10;

/// 1, 2, 5, 10, ...: the smallest with which k_max_bins bins cover `span`.
std::uint64_t round_step(std::uint64_t span) {
  for (std::uint64_t step = 1;; step *= 10) {
    for (const std::uint64_t multiple : {1U, 2U, 5U}) {
      if (step * multiple > span / (k_max_bins - 1)) return step * multiple;
    }
  }
}

Spread spread_of(std::vector<std::uint64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Spread spread{
      .num_values = values.size(), .min = values.front(), .median = values[values.size() / 2], .max = values.back()};
  // The largest 2% would stretch every bin, so they go into the last one.
  const std::uint64_t high = std::max(spread.min, values[values.size() - 1 - values.size() / 50]);
  const std::uint64_t step = round_step(high - spread.min);
  const std::uint64_t first = spread.min / step * step;
  const std::uint64_t count = (high - first) / step + 1;
  for (std::uint64_t i = 0; i < count; ++i)
    spread.bins.push_back({.begin = first + i * step, .end = first + (i + 1) * step});
  for (const std::uint64_t value : values) ++spread.bins[std::min((value - first) / step, count - 1)].count;
  return spread;
}

struct Aspect {
  const char* name;
  double below;  // width / height
};

constexpr Aspect k_aspects[] = {{"taller than 1:2", 0.5}, {"about 9:16", 0.61},   {"about 2:3", 0.71},
                                {"about 3:4", 0.85},      {"about square", 1.18}, {"about 4:3", 1.42},
                                {"about 3:2", 1.64},      {"about 16:9", 2.0001}, {"wider than 2:1", 1e30}};

class Counter {
 public:
  explicit Counter(const Survey& survey) : survey_(survey) {
    summary_.parts.resize(survey.parts.size());
    for (PartSummary& part : summary_.parts) part.class_counts.resize(survey.classes.size());
    summary_.all.class_counts.resize(survey.classes.size());
    for (const Aspect& aspect : k_aspects) summary_.aspects.push_back({.name = aspect.name});
  }

  SurveySummary run() {
    for (std::size_t part = 0; part < survey_.parts.size(); ++part) {
      for (std::uint64_t i = survey_.begins[part]; i < survey_.begins[part + 1]; ++i) {
        count_in(summary_.parts[part], survey_.images[i]);
        count_in(summary_.all, survey_.images[i]);
        count(survey_.images[i]);
      }
    }
    summary_.widths = spread_of(std::move(widths_));
    summary_.heights = spread_of(std::move(heights_));
    summary_.bytes = spread_of(std::move(bytes_));
    summary_.num_sizes = sizes_.size();
    for (const auto& [size, count] : sizes_) {
      summary_.common_sizes.push_back({.width = size.first, .height = size.second, .count = count});
    }
    keep_most_frequent(summary_.common_sizes);
    summary_.common_sizes.resize(std::min(summary_.common_sizes.size(), k_max_common_sizes));
    for (const auto& [kind, count] : kinds_) {
      summary_.kinds.push_back({.name = std::string(image_kind_name(kind)), .count = count});
    }
    keep_most_frequent(summary_.kinds);
    for (const auto& [sampling, count] : samplings_) {
      summary_.samplings.push_back({.name = survey_.samplings[sampling], .count = count});
    }
    keep_most_frequent(summary_.samplings);
    return std::move(summary_);
  }

 private:
  static void count_in(PartSummary& part, const SurveyedImage& image) {
    ++part.num_images;
    part.bytes += image.bytes;
    part.num_corrupt += image.remarks.has_corrupt() ? 1 : 0;
    if (image.class_number == k_no_class) {
      ++part.num_unlabeled;
    } else {
      ++part.class_counts[image.class_number];
    }
  }

  void count(const SurveyedImage& image) {
    bool is_remarked = false;
    for (unsigned remark = 0; remark < k_num_remarks; ++remark) {
      if (!image.remarks.has(static_cast<Remark>(remark))) continue;
      ++summary_.remarks[remark];
      is_remarked = true;
    }
    if (is_remarked && !image.remarks.has_corrupt()) ++summary_.num_remarked;
    ++kinds_[image.kind];
    ++summary_.orientations[image.orientation];
    if (image.bytes > 0) bytes_.push_back(image.bytes);
    if (image.kind == ImageKind::jpeg) {
      ++summary_.num_jpegs;
      summary_.num_progressive += image.is_progressive ? 1 : 0;
      ++samplings_[image.sampling];
    }
    if (image.width == 0 || image.height == 0) return;
    widths_.push_back(image.width);
    heights_.push_back(image.height);
    ++sizes_[{image.width, image.height}];
    const double aspect = static_cast<double>(image.width) / image.height;
    std::size_t number = 0;
    while (aspect >= k_aspects[number].below) ++number;
    ++summary_.aspects[number].count;
  }

  template <typename Counted>
  static void keep_most_frequent(std::vector<Counted>& counted) {
    std::stable_sort(counted.begin(), counted.end(),
                     [](const Counted& a, const Counted& b) { return a.count > b.count; });
  }

  const Survey& survey_;
  SurveySummary summary_;
  std::vector<std::uint64_t> widths_;
  std::vector<std::uint64_t> heights_;
  std::vector<std::uint64_t> bytes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sizes_;
  std::map<ImageKind, std::uint64_t> kinds_;
  std::map<std::uint8_t, std::uint64_t> samplings_;
};

}  // namespace

SurveySummary summarize(const Survey& survey) { return Counter(survey).run(); }

std::vector<std::uint64_t> spread_choice(std::uint64_t count, std::uint64_t most) {
  std::vector<std::uint64_t> chosen;
  const std::uint64_t number = std::min(count, most);
  for (std::uint64_t i = 0; i < number; ++i) chosen.push_back(i * count / number);
  return chosen;
}

}  // namespace bale
