#include "bale/writer/source_diff.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/threads.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_block_samples = 1024;  // compared before their differences are reported, in their order

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

  /// The hashes that several samples have.
  void add_repeated(std::unordered_set<std::uint64_t>& hashes) const {
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].first == places_[i - 1].first) hashes.insert(places_[i].first);
    }
  }

  /// Numbers of the samples with these hashes, by their keys.
  std::map<std::string, std::vector<std::uint64_t>> numbers_of(const std::unordered_set<std::uint64_t>& hashes) const {
    std::map<std::string, std::vector<std::uint64_t>> numbers;
    SourceSample sample;
    for (const auto& [hash, number] : places_) {
      if (!hashes.contains(hash)) continue;
      source_.describe(number, sample);
      numbers[sample.key].push_back(number);
    }
    return numbers;
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
    const KeysOfSource keys_of_a(a);
    keys_of_a.add_repeated(repeated_);
    keys_of_b_.add_repeated(repeated_);
    repeated_in_a_ = keys_of_a.numbers_of(repeated_);
    // Names are compared where both sides have some.
    has_names_ = !a.classes().empty() && !b.classes().empty();
  }

  DiffReport run(const std::function<void(const Difference&)>& on_difference) {
    DiffReport report{.samples_in_a = a_.size(), .samples_in_b = b_.size()};
    report.same_classes = !has_names_ || a_.classes() == b_.classes();
    for (std::uint64_t begin = 0; begin < a_.size(); begin += k_block_samples) {
      std::vector<Pair> block(std::min(k_block_samples, a_.size() - begin));
      for (std::size_t i = 0; i < block.size(); ++i) find_pair(begin + i, block[i]);
      std::erase_if(block, [&](const Pair& pair) { return pair.is_repeated; });
      run_parallel(block.size(), options_.jobs, [&](std::size_t i) { compare(block[i]); });
      for (const Pair& pair : block) count(pair, report, on_difference);
    }
    compare_repeated(report, on_difference);
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
    bool is_repeated = false;  // others have this key: compare_repeated()
  };

  void find_pair(std::uint64_t i, Pair& pair) {
    SourceSample sample;
    a_.describe(i, sample);
    pair.a = i;
    pair.key = sample.key;
    pair.is_repeated = !repeated_.empty() && repeated_.contains(hash_key(sample.key));
    if (pair.is_repeated) return;
    pair.b = keys_of_b_.find(sample.key);
    if (!pair.b) return;
    in_a_[*pair.b] = true;
    if (options_.keys_only) return;
    a_.will_need(i);
    b_.will_need(*pair.b);
  }

  /// Samples whose key others of their source have: those of the same content are pairs, and the rest are pairs in
  /// their order.
  void compare_repeated(DiffReport& report, const std::function<void(const Difference&)>& on_difference) {
    const auto numbers_in_b = keys_of_b_.numbers_of(repeated_);
    for (const auto& [key, numbers] : repeated_in_a_) {
      const auto found = numbers_in_b.find(key);
      std::vector<std::uint64_t> free_in_b = found == numbers_in_b.end() ? std::vector<std::uint64_t>() : found->second;
      std::vector<std::optional<Digest>> digests(free_in_b.size());
      for (std::size_t i = 0; i < free_in_b.size(); ++i) digests[i] = content(b_, free_in_b[i]);
      std::vector<Pair> pairs;
      for (const std::uint64_t number : numbers) {
        Pair& pair = pairs.emplace_back(Pair{.a = number, .key = key});
        const auto same = std::find(digests.begin(), digests.end(), content(a_, number));
        if (same == digests.end() || !*same) continue;
        pair.b = free_in_b[static_cast<std::size_t>(same - digests.begin())];
        free_in_b.erase(free_in_b.begin() + (same - digests.begin()));
        digests.erase(same);
      }
      for (Pair& pair : pairs) {
        if (!pair.b && !free_in_b.empty()) {
          pair.b = free_in_b.front();
          free_in_b.erase(free_in_b.begin());
        }
        if (pair.b) in_a_[*pair.b] = true;
        compare(pair);
        count(pair, report, on_difference);
      }
    }
  }

  /// A digest of what is compared; nullopt if the sample cannot be read.
  std::optional<Digest> content(const Source& source, std::uint64_t i) const {
    DigestStream stream;
    const std::int64_t label = source.label(i);
    stream.update(as_bytes(has_names_ ? label_text(source, label) : fmt::format("{}", label)));
    if (options_.keys_only) return stream.digest();
    try {
      Scratch scratch;
      const SampleView sample = source.read(i, scratch);
      std::map<std::string_view, Bytes> fields;
      for (const FieldView& field : sample.fields) {
        if (sample.label == k_no_label || field.name != k_label_field) fields.emplace(field.name, field.bytes);
      }
      for (const auto& [name, bytes] : fields) {
        stream.update(as_bytes(fmt::format("\n{}\n{}\n", name, bytes.size())));
        stream.update(bytes);
      }
      return stream.digest();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted || is_lack_of_resources(error)) throw;
      return std::nullopt;
    }
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
               .what = fmt::format("{} bytes in A, {} in B, different from byte {} on", field.bytes.size(),
                                   other.size(), at - field.bytes.begin())});
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
  std::vector<bool> in_a_;                      // samples of B
  std::unordered_set<std::uint64_t> repeated_;  // hashes of keys that several samples of one source have
  std::map<std::string, std::vector<std::uint64_t>> repeated_in_a_;
  bool has_names_ = false;
};

}  // namespace

DiffReport diff_sources(const Source& a, const Source& b, const DiffOptions& options, Progress& progress,
                        const std::function<void(const Difference&)>& on_difference) {
  progress.total_samples = a.size();
  return Comparison(a, b, options, progress).run(on_difference);
}

}  // namespace bale
