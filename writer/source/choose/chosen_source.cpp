#include "bale/writer/source/choose/chosen_source.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bale/writer/source/choose/source_table.hpp"

namespace bale {
namespace {

class ChosenSource : public Source {
 public:
  ChosenSource(std::unique_ptr<Source> all, std::vector<std::uint64_t> chosen, std::vector<SourceLoss> losses)
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
  std::vector<SourceLoss> losses() const override {
    std::vector<SourceLoss> losses = all_->losses();
    losses.insert(losses.end(), losses_.begin(), losses_.end());
    return losses;
  }

 private:
  std::unique_ptr<Source> all_;
  std::vector<std::uint64_t> chosen_;
  std::vector<SourceLoss> losses_;  // next to those of `all_`
};

}  // namespace

std::unique_ptr<Source> choose_samples(std::unique_ptr<Source> source, std::vector<std::uint64_t> chosen,
                                       std::vector<SourceLoss> losses) {
  return std::make_unique<ChosenSource>(std::move(source), std::move(chosen), std::move(losses));
}

void tell_unused_options(const SourceOptions& options, std::initializer_list<std::string_view> used,
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
