// A packed dataset as a source. Converting a dataset is packing from it.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/class_merge.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/class_folders.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/steady_file.hpp"
#include "bale/writer/source/folder/name_filter.hpp"
#include "bale/writer/source/packed_notices.hpp"
#include "bale/writer/source/saved/saved_source.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

/// The format that SourceOptions::kind names; null: detect the format of each shard.
const Format* wanted_format(const SourceOptions& options) {
  const auto all = formats();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Format* format) { return format->name == options.kind; });
  return found == all.end() ? nullptr : *found;
}

/// Labels of the samples that are not the dataset's own.
struct OwnLabels {
  std::vector<std::string> classes;
  std::vector<std::int64_t> labels{};  // of each sample
};

/// How the samples of a packed dataset are delivered.
struct KeyRules {
  bool prefixed = false;    // keys are told apart by their shards
  bool encoded = false;     // keys are encoded for the destination
  bool has_labels = false;  // OwnLabels
  std::vector<std::string> fields{};
};

class PackedSource : public Source {
 public:
  PackedSource(const std::string& spec, const SourceOptions& options)
      : opened_(std::make_shared<Dataset>(open_dataset(spec, options))), spec_(spec), options_(options) {
    NameFilter patterns(options.include, options.exclude);
    filter(patterns);
    if (options.class_folders) keep_images_only();
    note_unused_options(options, {"class_folders", "class_map"}, "this is a packed dataset", spec, notices_);
    notices_.merge(notices_of_packed(dataset_, keys_, size(), [this](std::uint64_t i) { return at(i); }), spec_);
    encoded_ = options.keys_name_files && has_keys_that_name_no_file();
    if (size() == 0 && dataset_.size() > 0) {
      throw Error(ErrorCode::invalid_argument, "`include` and `exclude` leave no sample",
                  {.path = spec, .hint = patterns.advice()});
    }
    take_labels();
    fields_ = dataset_.fields();
    std::stable_partition(fields_.begin(), fields_.end(), is_image_field);
    const auto has_label = [&](std::uint64_t i) { return label(i) != k_no_label; };
    if (!field_id(k_label_field)) {
      for (std::uint64_t i = 0; i < size() && fields_.size() == dataset_.fields().size(); ++i) {
        if (has_label(i)) fields_.emplace_back(k_label_field);
      }
    }
    label_field_ = field_id(k_label_field);
    for (std::size_t number = 0; number < dataset_.num_shards(); ++number) add_identity(number);
  }

  /// Samples of a saved source: `chosen` are their numbers in the dataset, and `identities` the hashes of their
  /// fingerprints.
  PackedSource(std::shared_ptr<const Dataset> dataset, const KeyRules& delivery, std::vector<std::uint64_t> chosen,
               std::vector<std::uint64_t> identities, std::optional<OwnLabels> labels)
      : opened_(std::move(dataset)),
        all_(false),
        chosen_(std::move(chosen)),
        keys_(dataset_, delivery.prefixed),
        encoded_(delivery.encoded),
        own_(std::move(labels)),
        fields_(delivery.fields),
        saved_identities_(std::move(identities)) {
    label_field_ = field_id(k_label_field);
    for (const std::uint64_t number : chosen_) {
      if (number >= dataset_.size()) refuse_changed(dataset_.shard_path(dataset_.num_shards() - 1), {});
      add_identity(dataset_.position(number).first);
    }
  }

  static Dataset open_dataset(const std::string& spec, const SourceOptions& options) {
    return Dataset::open(spec,
                         {.salvage = options.skip_damaged, .relative_names = true, .format = wanted_format(options)});
  }

  std::uint64_t size() const override { return all_ ? dataset_.size() : chosen_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return own_ ? own_->classes : dataset_.classes(); }
  LabelOrigin label_origin() const override { return {.reading = reading_}; }
  std::map<std::string, std::string> edits() const override { return dataset_.edits(); }
  std::vector<std::string> places() const override {
    std::vector<std::string> places;
    for (std::size_t number = 0; number < dataset_.num_shards(); ++number) {
      places.push_back(dataset_.shard_path(number));
      // Shards with a manifest are alone in their directory. Others may lie among any files.
      if (number == 0 && dataset_.manifest()) places.push_back(parent_directory(places.front()));
    }
    return places;
  }
  KeyForm key_form() const override {
    return encoded_ ? KeyForm::encoded : keys_.have_extensions() ? KeyForm::with_extensions : KeyForm::plain;
  }
  std::int64_t label(std::uint64_t i) const override { return own_ ? own_->labels[i] : dataset_.label(at(i)); }

  void describe(std::uint64_t i, SourceSample& out) const override {
    const auto [number, sample] = dataset_.position(at(i));
    const IndexInUse held = dataset_.use_index(number);
    const ShardIndex& index = *held;
    out.key = changed_key(number, index.key(sample));
    out.label = own_ ? label(i) : dataset_.label_in_shard(number, sample);
    out.fields.clear();
    bool has_label_field = false;
    for (const auto& [f, extent] : index.row(sample)) {
      const auto id = field_id(index.fields()[f].name);
      if (!id) continue;
      // For a compressed field this is its stored size, which is good enough for planning.
      const bool is_label = id == label_field_;
      // The class has another number in the dataset than in its shard.
      const bool translated = is_label && out.label != index.label(sample);
      out.fields.push_back({*id, translated ? fmt::format_int(out.label).size() : extent.length});
      has_label_field = has_label_field || is_label;
    }
    if (!has_label_field && label_field_ && out.label != k_no_label) {
      out.fields.push_back({*label_field_, fmt::format_int(out.label).size()});
    }
    std::sort(out.fields.begin(), out.fields.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  }

  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    if (!saved_identities_.empty() && identity(i) != saved_identities_[i]) {
      refuse_changed(dataset_.shard_path(dataset_.position(at(i)).first), dataset_.key(at(i)));
    }
    SampleView sample = dataset_.read(at(i), scratch);
    if (own_) sample.label = label(i);
    require_class_of(sample);
    // Shards of another tool may keep the label elsewhere. Every layout of bale has it in a field.
    const FieldView* const stored = sample.find(k_label_field);
    const bool writes_label = sample.label != k_no_label && (stored == nullptr || own_);
    const std::string key = changed_key(dataset_.position(at(i)).first, sample.key);
    if (!writes_label && key == sample.key) return sample;
    scratch.text() = writes_label ? key + fmt::format_int(sample.label).str() : key;
    const std::string_view text = scratch.text();
    sample.key = text.substr(0, key.size());
    if (writes_label) {
      const Bytes digits = as_bytes(text.substr(key.size()));
      if (stored == nullptr) {
        scratch.fields().push_back({k_label_field, digits});
      } else {
        scratch.fields()[static_cast<std::size_t>(stored - sample.fields.data())].bytes = digits;
      }
      sample.fields = scratch.fields();
    }
    return sample;
  }

  std::string origin(std::uint64_t i) const override {
    return dataset_.shard_path(dataset_.position(at(i)).first) + ": " + dataset_.key(at(i));
  }

  std::vector<SourceLoss> losses() const override {
    std::vector<SourceLoss> losses;
    for (const DatasetLoss& loss : dataset_.losses()) losses.push_back({loss.path, loss.why, loss.num_samples});
    return losses;
  }

  void will_need(std::uint64_t i) const override {
    const std::uint64_t indices[] = {at(i)};
    try {
      dataset_.prefetch(indices);
    } catch (const Error&) {
      // Reading ahead is optional; the read itself will report the error.
    }
  }

  void fingerprint(std::uint64_t i, std::string& out) const override {
    const auto [number, sample] = dataset_.position(at(i));
    const IndexInUse held = dataset_.use_index(number);
    const ShardIndex& index = *held;
    out += index.key(sample);
    out += fmt::format("\t{}", own_ ? label(i) : dataset_.label_in_shard(number, sample));
    for (const auto& [f, extent] : index.row(sample)) {
      out += fmt::format("\t{}\t{}", index.fields()[f].stored_name(), extent.length);
      if (index.has_checksums()) out += fmt::format("\t{:08x}", extent.crc32c);
    }
    // Without checksums, keys and lengths are all that the index knows of the content.
    if (!index.has_checksums()) out += identities_.at(number);
    out += '\n';
  }

  std::string save_head() const override {
    Json head{{"kind", k_saved_packed},
              {"spec", bytes_to_json(spec_)},
              {"source", options_.kind},
              {"skip_damaged", options_.skip_damaged},
              {"prefixed", keys_.are_told_apart()},
              {"encoded", encoded_},
              {"class_folders", own_.has_value()},
              {"classes", bytes_list_to_json(classes())},
              {"fields", bytes_list_to_json(fields_)},
              {"samples", dataset_.size()}};
    return head.dump({.sorted = true});
  }

  void save(std::uint64_t i, std::string& out) const override {
    RowWriter writer(out);
    writer.number(at(i));
    writer.number(identity(i));
    if (own_) writer.number(static_cast<std::uint64_t>(own_->labels[i]));
  }

  bool facts(std::uint64_t i, SampleFacts& out) const override {
    const auto [number, sample] = dataset_.position(at(i));
    facts_of(dataset_, number, sample, at(i), out);
    if (own_ && label(i) != k_no_label) out.label = label(i);
    if (own_ && label(i) >= 0) {
      out.class_name = classes()[static_cast<std::size_t>(*out.label)];
    }
    return true;
  }

  const NoticeLog& notices() const override { return notices_; }

 private:
  std::uint64_t at(std::uint64_t i) const { return all_ ? i : chosen_[i]; }

  void add_identity(std::size_t shard) {
    if (identities_.contains(shard)) return;
    const bool has_checksums = dataset_.use_index(shard)->has_checksums();
    identities_[shard] = has_checksums ? std::string{} : identity_of_file(dataset_.shard_path(shard));
  }

  std::uint64_t identity(std::uint64_t i) const {
    std::string text;
    fingerprint(i, text);
    return hash_key(text);
  }

  [[noreturn]] static void refuse_changed(const std::string& path, std::string key) {
    throw Error(ErrorCode::changed, "changed since the plan was made",
                {.path = path, .key = std::move(key), .hint = "make a new plan, for a new destination"});
  }

  std::string own_key(std::size_t shard, std::string_view key) const { return keys_.name(shard, key); }

  /// The sample's path where the archive is unpacked: "./cat/a" and "/cat/a" lie in the folder "cat".
  std::string path_of(std::uint64_t i) const { return contained_name(dataset_.key(at(i))); }

  /// If one key must be encoded, all are: so they stay unique and can all be decoded again.
  bool has_keys_that_name_no_file() const {
    for (std::uint64_t i = 0; i < size(); ++i) {
      if (!names_a_file(own_key(dataset_.position(at(i)).first, dataset_.key(at(i))))) return true;
    }
    return false;
  }

  std::string changed_key(std::size_t shard, std::string_view key) const {
    const std::string own = own_key(shard, key);
    return encoded_ ? encode_key(own) : own;
  }

  void take_labels() {
    Labels labels(options_);
    std::map<std::int64_t, LabelWord> used;
    for (std::uint64_t i = 0; i < size(); ++i) {
      const std::int64_t number = dataset_.label(at(i));
      if (number == k_no_label) continue;
      reading_ = LabelReading::numbers;
      if (!labels.has_map()) break;
      if (number < 0) continue;  // no class, and stays what it is (LabelMap)
      const auto [word, is_new] = used.try_emplace(number);
      if (is_new) word->second = {.text = std::to_string(number), .key = dataset_.key(at(i))};
    }
    if (options_.class_folders) {
      take_folders(labels);
    } else if (labels.has_map() && !(used.empty() && take_texts(labels))) {
      renumber(labels, used);
    }
    if (own_) reading_ = labels.reading();
    if (reading_ == LabelReading::none && !dataset_.manifest()) {
      if (!has_made_keys(dataset_)) {
        notices_.merge(class_folders_notice(size(), [&](std::uint64_t i) { return path_of(i); }), spec_);
      }
      notices_.merge(label_fields_notice(dataset_), spec_);
    }
  }

  /// The classes are the folders in the keys.
  void take_folders(Labels& labels) {
    for (std::uint64_t i = 0; i < size(); ++i) {
      if (dataset_.label(at(i)) == k_no_label) continue;
      throw Error(ErrorCode::invalid_argument, "`class_folders` of samples that have labels",
                  {.path = spec_, .key = dataset_.key(at(i)), .hint = "leave `class_folders` out"});
    }
    for (const std::string& field : dataset_.fields()) {
      if (dataset_.classes().empty() || !has_class_numbers(field, /*has_labels=*/false)) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("`class_folders`: the folders would name the classes, whose numbers are in the field {}",
                              printable(field)),
                  {.path = spec_, .hint = "leave `class_folders` out"});
    }
    const KeyFolders found = class_folders_of(
        size(), [&](std::uint64_t i) { return path_of(i); }, spec_);
    labels.take_names(found.names);
    labels.mention_joined(spec_, notices_);
    if (!labels.has_map()) warn_of_odd_class_folders(spec_, labels.classes(), found.have_folders, false, notices_);
    std::vector<std::int64_t> numbers;
    for (const std::string& name : found.names) numbers.push_back(labels.number_of(name, spec_));
    own_ = {.classes = labels.classes()};
    for (const std::uint32_t folder : found.folders) own_->labels.push_back(numbers[folder]);
  }

  /// The texts of the label field are classes of the class map. Returns false if there are none.
  bool take_texts(Labels& labels) {
    const auto position = [this](std::uint64_t i) { return at(i); };
    const LabelTexts texts = label_texts_of(dataset_, size(), position, options_.skip_damaged);
    if (texts.words.empty()) return false;
    const std::vector<std::int64_t> numbers = labels.take_words(texts.words, spec_);
    labels.mention_joined(spec_, notices_);
    own_ = {.classes = labels.classes()};
    for (const auto& word : texts.of_samples) own_->labels.push_back(word ? numbers[*word] : k_no_label);
    notices_.drop(IndexBuilder::k_text_label);
    return true;
  }

  /// The classes of the dataset get the numbers of the class map.
  void renumber(Labels& labels, const std::map<std::int64_t, LabelWord>& used) {
    if (used.empty()) {
      if (options_.are_shared) return;
      throw Error(ErrorCode::invalid_argument, "`class_map` of samples without labels",
                  {.path = spec_, .hint = "give `class_folders` if the folders in the keys are the classes"});
    }
    const std::map<std::int64_t, std::int64_t> numbers = labels.take_numbers(dataset_.classes(), used, spec_);
    labels.mention_joined(spec_, notices_);
    const auto moved =
        std::find_if(numbers.begin(), numbers.end(), [](const auto& pair) { return pair.first != pair.second; });
    for (const std::string& field : dataset_.fields()) {
      if (moved == numbers.end() || !has_class_numbers(field, /*has_labels=*/true)) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("class {} would get the number {}, and the field {} has the old numbers", moved->first,
                              moved->second, printable(field)),
                  {.path = spec_, .hint = "pack it again from its source with `class_map`"});
    }
    own_ = {.classes = labels.classes()};
    for (std::uint64_t i = 0; i < size(); ++i) {
      const std::int64_t number = dataset_.label(at(i));
      own_->labels.push_back(number < 0 ? number : numbers.at(number));
    }
  }

  /// A label without a class is a bad sample. One below 0 stands for no class.
  void require_class_of(const SampleView& sample) const {
    if (sample.label < 0) return;
    try {
      require_class(sample.label, classes());
    } catch (const Error& error) {
      throw Error(error.code(), error.message(),
                  {.path = spec_, .key = std::string(sample.key), .hint = error.context().hint});
    }
  }

  std::optional<std::uint32_t> field_id(std::string_view name) const {
    const auto found = std::find(fields_.begin(), fields_.end(), name);
    if (found == fields_.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - fields_.begin());
  }

  void filter(NameFilter& filter) {
    all_ = filter.takes_all();
    for (std::uint64_t i = 0; !all_ && i < dataset_.size(); ++i) filter.see_key(dataset_.key(i));
    for (std::uint64_t i = 0; !all_ && i < dataset_.size(); ++i) {
      const std::string key = dataset_.key(i);
      if (filter.takes(key)) {
        chosen_.push_back(i);
      } else {
        notices_.leave_out(key, NameFilter::k_filtered);
      }
    }
    filter.note_unmatched(notices_, spec_);
  }

  bool has_image(std::uint64_t i) const {
    const auto [number, sample] = dataset_.position(at(i));
    const IndexInUse index = dataset_.use_index(number);
    for (const auto& [f, extent] : index->row(sample)) {
      const std::string& field = index->fields()[f].name;
      if (is_image_field(field) || is_image_name(field)) return true;
    }
    return false;
  }

  /// As of a folder of classes, whose samples are its images: a text next to the class folders changes no class.
  void keep_images_only() {
    std::vector<std::uint64_t> images;
    std::vector<std::uint64_t> others;
    for (std::uint64_t i = 0; i < size(); ++i) (has_image(i) ? images : others).push_back(at(i));
    if (images.empty() || others.empty()) return;
    for (const std::uint64_t i : others) {
      notices_.add(fmt::format("{}: {}", dataset_.shard_path(dataset_.position(i).first), dataset_.key(i)), "no image");
    }
    all_ = false;
    chosen_ = std::move(images);
  }

  std::shared_ptr<const Dataset> opened_;
  const Dataset& dataset_ = *opened_;
  std::string spec_;
  SourceOptions options_;
  bool all_ = true;
  std::vector<std::uint64_t> chosen_;  // if not all are chosen
  SampleKeys keys_{dataset_};
  NoticeLog notices_ = dataset_.notices();
  bool encoded_ = false;  // keys are encoded for the destination
  LabelReading reading_ = LabelReading::none;
  std::optional<OwnLabels> own_;
  std::vector<std::string> fields_;
  std::optional<std::uint32_t> label_field_;
  std::unordered_map<std::size_t, std::string> identities_;  // of the shard files; empty if there are checksums
  std::vector<std::uint64_t> saved_identities_;              // of the samples, if they were saved
};

class SavedPackedRows : public SavedRows {
 public:
  SavedPackedRows(std::shared_ptr<const Dataset> dataset, const KeyRules& delivery,
                  const std::vector<std::string>& classes)
      : dataset_(std::move(dataset)), delivery_(delivery) {
    if (delivery_.has_labels) own_ = {.classes = classes};
  }

  void add(std::string_view row) override {
    RowReader in(row);
    chosen_.push_back(in.number());
    identities_.push_back(in.number());
    if (own_) {
      const auto label = static_cast<std::int64_t>(in.number());
      if (label >= static_cast<std::int64_t>(own_->classes.size())) RowReader::refuse();
      own_->labels.push_back(label);
    }
    if (!in.at_end()) RowReader::refuse();
  }

  std::unique_ptr<Source> finish() override {
    return std::make_unique<PackedSource>(dataset_, delivery_, std::move(chosen_), std::move(identities_),
                                          std::move(own_));
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
  const KeyRules& delivery_;
  std::vector<std::uint64_t> chosen_;
  std::vector<std::uint64_t> identities_;
  std::optional<OwnLabels> own_;
};

class SavedPacked : public SavedSource {
 public:
  explicit SavedPacked(const Json& head)
      : delivery_{.prefixed = head.truth("prefixed"),
                  .encoded = head.truth("encoded"),
                  .has_labels = head.truth("class_folders"),
                  .fields = head.bytes_list("fields")},
        classes_(head.bytes_list("classes")) {
    const SourceOptions options{.kind = head.text("source"), .skip_damaged = head.truth("skip_damaged")};
    const std::string spec = head.bytes("spec");
    dataset_ = std::make_shared<Dataset>(PackedSource::open_dataset(spec, options));
    if (dataset_->size() != head.count("samples")) {
      throw Error(ErrorCode::changed, "has another number of samples than when the plan was made",
                  {.path = spec, .hint = "make a new plan, for a new destination"});
    }
  }
  std::unique_ptr<SavedRows> begin_rows() const override {
    return std::make_unique<SavedPackedRows>(dataset_, delivery_, classes_);
  }

 private:
  KeyRules delivery_;
  std::vector<std::string> classes_;
  std::shared_ptr<const Dataset> dataset_;
};

}  // namespace

std::unique_ptr<SavedSource> open_saved_packed(const Json& head) { return std::make_unique<SavedPacked>(head); }

std::unique_ptr<Source> open_packed_source(const std::string& spec, const SourceOptions& options) {
  return std::make_unique<PackedSource>(spec, options);
}

}  // namespace bale
