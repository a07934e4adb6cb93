#include "bale/writer/source/choose/chosen_source.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/writer/source/choose/source_table.hpp"

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
      if (field.id == label_field_) field.bytes = fmt::formatted_size("{}", out.label);
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

}  // namespace bale
