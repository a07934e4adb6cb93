#include "bale/writer/source/choose/chosen_source.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/source/choose/source_table.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

class ChosenSource : public Source {
 public:
  ChosenSource(std::shared_ptr<const Source> all, std::vector<std::uint64_t> chosen, std::vector<SourceLoss> losses)
      : all_(std::move(all)), chosen_(std::move(chosen)), losses_(std::move(losses)) {}

  std::uint64_t size() const override { return chosen_.size(); }
  const std::vector<std::string>& fields() const override { return all_->fields(); }
  const std::vector<std::string>& classes() const override { return all_->classes(); }
  LabelOrigin label_origin() const override { return all_->label_origin(); }
  std::map<std::string, std::string> edits() const override { return all_->edits(); }
  std::vector<std::string> places() const override { return all_->places(); }
  KeyForm key_form() const override { return all_->key_form(); }
  std::int64_t label(std::uint64_t i) const override { return all_->label(chosen_[i]); }
  void describe(std::uint64_t i, SourceSample& out) const override { all_->describe(chosen_[i], out); }
  SampleView read(std::uint64_t i, Scratch& scratch) const override { return all_->read(chosen_[i], scratch); }
  std::string origin(std::uint64_t i) const override { return all_->origin(chosen_[i]); }
  std::vector<SourceFile> files(std::uint64_t i) const override { return all_->files(chosen_[i]); }
  void will_need(std::uint64_t i) const override { all_->will_need(chosen_[i]); }
  void fingerprint(std::uint64_t i, std::string& out) const override { all_->fingerprint(chosen_[i], out); }
  std::string save_head() const override { return all_->save_head(); }
  void save(std::uint64_t i, std::string& out) const override { all_->save(chosen_[i], out); }
  bool facts(std::uint64_t i, SampleFacts& out) const override { return all_->facts(chosen_[i], out); }
  const NoticeLog& notices() const override { return all_->notices(); }
  std::function<void(NoticeLog& log)> read_notices() const override { return all_->read_notices(); }
  std::vector<SourceLoss> losses() const override {
    std::vector<SourceLoss> losses = all_->losses();
    losses.insert(losses.end(), losses_.begin(), losses_.end());
    return losses;
  }

 private:
  const std::shared_ptr<const Source> all_;
  std::vector<std::uint64_t> chosen_;
  std::vector<SourceLoss> losses_;  // next to those of `all_`
};

std::vector<std::uint64_t> all_of(const Source& source) {
  std::vector<std::uint64_t> numbers(source.size());
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

/// The same samples, whose classes have other numbers.
class RenumberedSource final : public ChosenSource {
 public:
  RenumberedSource(std::shared_ptr<const Source> source, std::vector<std::uint64_t> all,
                   std::vector<std::string> classes, LabelMap labels)
      : ChosenSource(std::move(source), std::move(all), {}), classes_(std::move(classes)), labels_(std::move(labels)) {
    const auto found = std::find(fields().begin(), fields().end(), k_label_field);
    if (found != fields().end()) label_field_ = static_cast<std::uint32_t>(found - fields().begin());
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::uint64_t i) const override { return labels_(ChosenSource::label(i)); }

  void describe(std::uint64_t i, SourceSample& out) const override {
    ChosenSource::describe(i, out);
    out.label = labels_(out.label);
    if (out.label == k_no_label) return;
    for (SourceSample::Field& field : out.fields) {
      if (field.id == label_field_) field.bytes = fmt::format_int(out.label).size();
    }
  }

  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    SampleView sample = ChosenSource::read(i, scratch);
    const std::int64_t label = labels_(sample.label);
    if (label == sample.label) return sample;
    sample.label = label;
    std::vector<FieldView>& fields = scratch.fields();
    if (sample.fields.data() != fields.data()) fields.assign(sample.fields.begin(), sample.fields.end());
    const std::string digits = fmt::format_int(label).str();
    for (FieldView& field : fields) {
      if (field.name != k_label_field) continue;
      const MutableBytes place = scratch.inflated(fields.size(), digits.size());
      std::copy(digits.begin(), digits.end(), reinterpret_cast<char*>(place.data()));
      field.bytes = place;
    }
    sample.fields = fields;
    return sample;
  }

 private:
  const std::vector<std::string> classes_;
  const LabelMap labels_;
  std::optional<std::uint32_t> label_field_;
};

}  // namespace

std::unique_ptr<Source> choose_samples(std::shared_ptr<const Source> source, std::vector<std::uint64_t> chosen,
                                       std::vector<SourceLoss> losses) {
  return std::make_unique<ChosenSource>(std::move(source), std::move(chosen), std::move(losses));
}

std::unique_ptr<Source> renumber_classes(std::shared_ptr<const Source> source, std::vector<std::string> classes,
                                         LabelMap labels) {
  std::vector<std::uint64_t> all = all_of(*source);
  return std::make_unique<RenumberedSource>(std::move(source), std::move(all), std::move(classes), std::move(labels));
}

void note_unused_options(const SourceOptions& options, std::initializer_list<std::string_view> used,
                         std::string_view why, std::string_view place, NoticeLog& notices) {
  constexpr std::string_view k_of_all[] = {"include", "exclude"};
  for (const std::string& name : given_source_options(options, false)) {
    const bool is_fine = std::find(std::begin(k_of_all), std::end(k_of_all), name) != std::end(k_of_all) ||
                         std::find(used.begin(), used.end(), name) != used.end() ||
                         (options.are_shared && name == "allow_unlabeled");
    if (!is_fine) notices.no_effect(name, why, place);
  }
}

// A random subset of a source: the samples whose keys have the lowest hashes.

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
  const KeyRepeat& first = repeats.front();
  const bool are_files = !source.files(first.first).empty();
  const bool is_same_file = are_files && source.origin(first.first) == source.origin(first.repeat);
  throw Error(
      ErrorCode::invalid_argument, fmt::format("{} would have the same key", pairs),
      {.key = key_of_sample(source, first.first),
       .hint =
           is_same_file ? "the list names a file again: leave out the second line, or keep the first of each key with "
                          "`on_error` skip"
           : are_files  ? "keep all with `keep_extensions` if only the extensions differ, the first of each key with "
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

// A source of which a condition selects samples.

namespace {

/// What is known of a sample that is not packed. Returns false if it cannot be read: packing will report why.
bool examine(const Source& source, const Where& where, std::uint64_t i, SampleFacts& out) {
  SourceSample described;
  source.describe(i, described);
  out = {.key = described.key, .index = i};
  if (described.label != k_no_label) out.label = described.label;
  const auto& classes = source.classes();
  if (out.label && *out.label >= 0 && static_cast<std::uint64_t>(*out.label) < classes.size()) {
    out.class_name = classes[static_cast<std::size_t>(*out.label)];
  }
  for (const SourceSample::Field& field : described.fields) {
    const std::string& name = source.fields()[field.id];
    if (!is_image_field(name) && name != k_array_field) continue;
    out.format = name;
    out.bytes = field.bytes;
    break;
  }
  if (!where.needs_image_size()) return true;
  try {
    Scratch scratch;
    const SampleView sample = source.read(i, scratch);
    if (sample.width != 0 && sample.height != 0) {
      out.width = sample.width;
      out.height = sample.height;
    }
    return true;
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    return false;
  }
}

enum class Choice : std::uint8_t { left_out, unknown, taken };

Choice choose(const Source& source, const Where& where, std::uint64_t i, SampleFacts& facts) {
  if (!source.facts(i, facts) && !examine(source, where, i, facts)) return Choice::taken;
  const Truth result = where.test(facts);
  if (result == Truth::yes) return Choice::taken;
  return result == Truth::no ? Choice::left_out : Choice::unknown;
}

}  // namespace

std::unique_ptr<Source> filter_source(std::unique_ptr<Source> source, const Where& where, unsigned jobs,
                                      WhereCounts& counts) {
  SampleFacts first;
  if (where.takes_all() || source->size() == 0) return source;
  if (where.needs_shard() && !source->facts(0, first)) {
    throw Error(ErrorCode::invalid_argument, "`where` names the shard, which only samples of a packed dataset have",
                {.hint = "leave shard out of the condition"});
  }
  const bool is_packed = where.needs_fields() && source->facts(0, first);
  where.require_fields(is_packed ? source->fields() : std::vector<std::string>());
  constexpr std::uint64_t k_block = 256;  // samples that one thread examines at a time
  std::vector<Choice> choices(source->size());
  run_parallel((choices.size() + k_block - 1) / k_block, jobs, [&](std::size_t block) {
    SampleFacts facts;
    const std::uint64_t begin = block * k_block;
    const std::uint64_t end = std::min<std::uint64_t>(begin + k_block, choices.size());
    for (std::uint64_t i = begin; i < end; ++i) choices[i] = choose(*source, where, i, facts);
  });
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == Choice::taken) chosen.push_back(i);
    if (choices[i] == Choice::unknown) ++counts.num_unknown;
  }
  counts.num_samples += choices.size();
  counts.num_left_out += choices.size() - chosen.size();
  if (chosen.empty()) {
    throw Error(
        ErrorCode::invalid_argument, fmt::format("`where` selects none of {} samples", choices.size()),
        {.hint = counts.num_unknown == 0 ? "loosen the condition" : "comparisons with unknown values match nothing"});
  }
  return choose_samples(std::move(source), std::move(chosen));
}

}  // namespace bale
