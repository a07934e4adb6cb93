#include "bale/writer/source_diff.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/parallel.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_block_samples = 1024;  // compared before their differences are told, in their order

/// The samples of a source by their keys.
class KeysOfSource {
 public:
  explicit KeysOfSource(const Source& source) : source_(source) {
    SourceSample sample;
    places_.reserve(source.size());
    for (std::uint64_t i = 0; i < source.size(); ++i) {
      source.describe(i, sample);
      places_.emplace_back(hash_key(sample.key), i);
    }
    std::sort(places_.begin(), places_.end());
  }

  std::optional<std::uint64_t> find(const std::string& key) const {
    const std::uint64_t hash = hash_key(key);
    SourceSample sample;
    for (auto at = std::lower_bound(places_.begin(), places_.end(), std::pair{hash, std::uint64_t{0}});
         at != places_.end() && at->first == hash; ++at) {
      source_.describe(at->second, sample);
      if (sample.key == key) return at->second;
    }
    return std::nullopt;
  }

 private:
  const Source& source_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  // hash of the key, and number
};

/// "fish (0)", "0", "no label".
std::string label_text(const Source& source, std::int64_t label) {
  if (label == k_no_label) return "no label";
  const std::vector<std::string>& classes = source.classes();
  const bool has_name = label >= 0 && static_cast<std::uint64_t>(label) < classes.size();
  return has_name ? fmt::format("{} ({})", classes[static_cast<std::size_t>(label)], label) : fmt::format("{}", label);
}

class Comparison {
 public:
  Comparison(const Source& a, const Source& b, const DiffOptions& options, Progress& progress)
      : a_(a), b_(b), options_(options), progress_(progress), keys_of_b_(b), in_a_(b.size()) {
    // Names are compared where both sides have some.
    has_names_ = !a.classes().empty() && !b.classes().empty();
  }

  DiffReport run(const std::function<void(const Difference&)>& on_difference) {
    DiffReport report{.samples_in_a = a_.size(), .samples_in_b = b_.size()};
    report.same_classes = !has_names_ || a_.classes() == b_.classes();
    for (std::uint64_t begin = 0; begin < a_.size(); begin += k_block_samples) {
      std::vector<Pair> block(std::min(k_block_samples, a_.size() - begin));
      for (std::size_t i = 0; i < block.size(); ++i) find_pair(begin + i, block[i]);
      run_parallel(block.size(), options_.jobs, [&](std::size_t i) { compare(block[i]); });
      for (const Pair& pair : block) count(pair, report, on_difference);
    }
    SourceSample sample;
    for (std::uint64_t i = 0; i < b_.size(); ++i) {
      if (in_a_[i]) continue;
      b_.describe(i, sample);
      ++report.num_only_in_b;
      on_difference({.kind = Difference::Kind::only_in_b, .key = sample.key, .origin = b_.origin(i)});
    }
    return report;
  }

 private:
  using Kind = Difference::Kind;

  /// A sample of A, and that of B with the same key.
  struct Pair {
    std::uint64_t a = 0;
    std::optional<std::uint64_t> b{};
    std::string key{};
    std::vector<Difference> differences{};
    bool is_unreadable = false;
  };

  void find_pair(std::uint64_t i, Pair& pair) {
    SourceSample sample;
    a_.describe(i, sample);
    pair.a = i;
    pair.key = sample.key;
    pair.b = keys_of_b_.find(sample.key);
    if (!pair.b) return;
    in_a_[*pair.b] = true;
    if (options_.keys_only) return;
    a_.will_need(i);
    b_.will_need(*pair.b);
  }

  void compare(Pair& pair) const {
    progress_.throw_if_stopped();
    ++progress_.samples;
    if (!pair.b) return add(pair, {.kind = Kind::only_in_a});
    const std::int64_t label_a = a_.label(pair.a);
    const std::int64_t label_b = b_.label(*pair.b);
    if (label_a != label_b || (has_names_ && label_text(a_, label_a) != label_text(b_, label_b))) {
      add(pair, {.kind = Kind::label,
                 .what = fmt::format("{} in A, {} in B", label_text(a_, label_a), label_text(b_, label_b))});
    }
    if (!options_.keys_only) compare_fields(pair);
  }

  void compare_fields(Pair& pair) const {
    Scratch scratch_a;
    Scratch scratch_b;
    const auto sample_a = read(a_, pair.a, scratch_a, Kind::unreadable_in_a, pair);
    const auto sample_b = read(b_, *pair.b, scratch_b, Kind::unreadable_in_b, pair);
    if (!sample_a || !sample_b) return;
    const bool skips_label = sample_a->label != k_no_label || sample_b->label != k_no_label;
    const auto is_compared = [&](const FieldView& field) { return !skips_label || field.name != k_label_field; };
    for (const FieldView& field : sample_a->fields) {
      if (!is_compared(field)) continue;
      const FieldView* const other = sample_b->find(field.name);
      if (other == nullptr) {
        add(pair, {.kind = Kind::field_only_in_a, .field = std::string(field.name)});
      } else {
        compare_bytes(pair, field, other->bytes);
      }
    }
    for (const FieldView& field : sample_b->fields) {
      if (!is_compared(field) || sample_a->find(field.name) != nullptr) continue;
      add(pair, {.kind = Kind::field_only_in_b, .field = std::string(field.name)});
    }
  }

  std::optional<SampleView> read(const Source& source, std::uint64_t i, Scratch& scratch, Kind unreadable,
                                 Pair& pair) const {
    try {
      const SampleView sample = source.read(i, scratch);
      for (const FieldView& field : sample.fields) progress_.bytes += field.bytes.size();
      return sample;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
      pair.is_unreadable = true;
      ++progress_.skipped;
      add(pair, {.kind = unreadable, .what = error.what()});
      return std::nullopt;
    }
  }

  void compare_bytes(Pair& pair, const FieldView& field, Bytes other) const {
    const auto [at, at_other] = std::mismatch(field.bytes.begin(), field.bytes.end(), other.begin(), other.end());
    if (at == field.bytes.end() && at_other == other.end()) return;
    add(pair, {.kind = Kind::bytes,
               .field = std::string(field.name),
               .what = fmt::format("{} bytes in A, {} in B, different from byte {} on", field.bytes.size(), other.size(),
                                   at - field.bytes.begin())});
  }

  void add(Pair& pair, Difference difference) const {
    const bool is_of_b = difference.kind == Kind::field_only_in_b || difference.kind == Kind::unreadable_in_b;
    difference.key = pair.key;
    difference.origin = is_of_b ? b_.origin(*pair.b) : a_.origin(pair.a);
    pair.differences.push_back(std::move(difference));
  }

  static void count(const Pair& pair, DiffReport& report, const std::function<void(const Difference&)>& on_difference) {
    if (!pair.b) {
      ++report.num_only_in_a;
    } else if (pair.is_unreadable) {
      ++report.num_unreadable;
    } else if (pair.differences.empty()) {
      ++report.num_same;
    } else {
      ++report.num_different;
    }
    for (const Difference& difference : pair.differences) on_difference(difference);
  }

  const Source& a_;
  const Source& b_;
  const DiffOptions options_;
  Progress& progress_;
  const KeysOfSource keys_of_b_;
  std::vector<bool> in_a_;  // samples of B
  bool has_names_ = false;
};

}  // namespace

DiffReport diff_sources(const Source& a, const Source& b, const DiffOptions& options, Progress& progress,
                        const std::function<void(const Difference&)>& on_difference) {
  progress.total_samples = a.size();
  return Comparison(a, b, options, progress).run(on_difference);
}

}  // namespace bale
