// A packed dataset as a source. Converting a dataset is packing from it.
#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/contained_name.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/names_apart.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/source/class_folders.hpp"
#include "bale/writer/source/long_path.hpp"
#include "bale/writer/source/name_filter.hpp"
#include "bale/writer/source/option_use.hpp"
#include "bale/writer/source/row_bytes.hpp"
#include "bale/writer/source/saved_kinds.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

/// A text that changes when the file's content changes. Every write sets the times; the status change time changes even
/// if the modification time is set back. The ends are compared for file systems with coarse times.
std::string identity_of_file(const std::string& path) {
  constexpr std::uint64_t k_end_bytes = 65536;
  try {
    const File file = File::open_read(path);
    struct stat info {};
    if (::fstat(file.fd(), &info) != 0) throw_errno("examine", path);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    DigestStream ends;
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size, k_end_bytes)));
    for (const std::uint64_t at : {std::uint64_t{0}, size - bytes.size()}) {
      file.read_exact(at, bytes);
      ends.update(bytes);
    }
    return fmt::format("\t{}\t{}\t{}.{:09}\t{}", size, mtime_ns(info), info.st_ctim.tv_sec, info.st_ctim.tv_nsec,
                       digest_text(ends.digest()));
  } catch (const Error&) {
    return "\tunreadable";  // reading its samples will report why
  }
}

/// The format that SourceOptions::kind names; null: detect the format of each shard.
const Format* wanted_format(const SourceOptions& options) {
  const auto all = formats();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Format* format) { return format->name == options.kind; });
  return found == all.end() ? nullptr : *found;
}

/// How the samples of a packed dataset are delivered.
struct Delivery {
  bool prefixed = false;       // keys are told apart by their shards
  bool encoded = false;        // keys are encoded for the destination
  bool class_folders = false;  // classes come from the keys
  std::vector<std::string> fields{};
};

class PackedSource : public Source {
 public:
  PackedSource(const std::string& spec, const SourceOptions& options)
      : opened_(std::make_shared<Dataset>(open_dataset(spec, options))), spec_(spec), options_(options) {
    NameFilter patterns(options.include, options.exclude);
    filter(patterns);
    tell_unused_options(options, {"class_folders"}, "this is a packed dataset", spec, notices_);
    tell_of_relative_keys();
    encoded_ = options.keys_name_files && has_keys_that_name_no_file();
    if (size() == 0 && dataset_.size() > 0) {
      throw Error(ErrorCode::invalid_argument, "`include` and `exclude` leave no sample",
                  {.path = spec, .hint = patterns.advice()});
    }
    if (options.class_folders) take_classes(spec);
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
  /// fingerprints. `classes` are those of the samples if they come from the keys.
  PackedSource(std::shared_ptr<const Dataset> dataset, const Delivery& delivery, std::vector<std::uint64_t> chosen,
               std::vector<std::uint64_t> identities, std::optional<FolderClasses> classes)
      : opened_(std::move(dataset)),
        all_(false),
        chosen_(std::move(chosen)),
        keys_(dataset_, delivery.prefixed),
        encoded_(delivery.encoded),
        folders_(std::move(classes)),
        fields_(delivery.fields),
        saved_identities_(std::move(identities)) {
    label_field_ = field_id(k_label_field);
    for (const std::uint64_t number : chosen_) {
      if (number >= dataset_.size()) refuse_changed(dataset_.shard_path(dataset_.num_shards() - 1), {});
      add_identity(dataset_.position(number).first);
    }
  }

  static Dataset open_dataset(const std::string& spec, const SourceOptions& options) {
    return Dataset::open(spec, {.salvage = options.skip_damaged, .format = wanted_format(options)});
  }

  std::uint64_t size() const override { return all_ ? dataset_.size() : chosen_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override {
    return folders_ ? folders_->names : dataset_.classes();
  }
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
  bool encodes_keys() const override { return encoded_; }
  std::int64_t label(std::uint64_t i) const override { return folders_ ? folders_->classes[i] : dataset_.label(at(i)); }

  void describe(std::uint64_t i, SourceSample& out) const override {
    const auto [number, sample] = dataset_.position(at(i));
    const IndexInUse held = dataset_.use_index(number);
    const ShardIndex& index = *held;
    out.key = changed_key(number, index.key(sample));
    out.label = folders_ ? label(i) : dataset_.label_in_shard(number, sample);
    out.fields.clear();
    bool has_label_field = false;
    for (const auto& [f, extent] : index.row(sample)) {
      const auto id = field_id(index.fields()[f].name);
      if (!id) continue;
      // For a compressed field this is its stored size, which is good enough for planning.
      const bool is_label = id == label_field_;
      // The class has another number in the dataset than in its shard.
      const bool translated = is_label && out.label != index.label(sample);
      out.fields.push_back({*id, translated ? fmt::formatted_size("{}", out.label) : extent.length});
      has_label_field = has_label_field || is_label;
    }
    if (!has_label_field && label_field_ && out.label != k_no_label) {
      out.fields.push_back({*label_field_, fmt::formatted_size("{}", out.label)});
    }
    std::sort(out.fields.begin(), out.fields.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  }

  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    if (!saved_identities_.empty() && identity(i) != saved_identities_[i]) {
      refuse_changed(dataset_.shard_path(dataset_.position(at(i)).first), dataset_.key(at(i)));
    }
    SampleView sample = dataset_.read(at(i), scratch);
    if (folders_) sample.label = label(i);
    const bool lacks_label = sample.label != k_no_label && sample.find(k_label_field) == nullptr;
    const std::string key = changed_key(dataset_.position(at(i)).first, sample.key);
    if (!lacks_label && key == sample.key) return sample;
    scratch.text() = lacks_label ? key + fmt::format_int(sample.label).str() : key;
    const std::string_view text = scratch.text();
    sample.key = text.substr(0, key.size());
    if (lacks_label) {
      // Shards of another tool may keep the label elsewhere. Every layout of bale has it in a field.
      scratch.fields().push_back({k_label_field, as_bytes(text.substr(key.size()))});
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
    fmt::format_to(std::back_inserter(out), "\t{}", folders_ ? label(i) : dataset_.label_in_shard(number, sample));
    for (const auto& [f, extent] : index.row(sample)) {
      fmt::format_to(std::back_inserter(out), "\t{}\t{}", index.fields()[f].stored_name(), extent.length);
      if (index.has_checksums()) fmt::format_to(std::back_inserter(out), "\t{:08x}", extent.crc32c);
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
              {"class_folders", folders_.has_value()},
              {"classes", bytes_list_to_json(classes())},
              {"fields", bytes_list_to_json(fields_)},
              {"samples", dataset_.size()}};
    return head.dump({.sorted = true});
  }

  void save(std::uint64_t i, std::string& out) const override {
    RowWriter writer(out);
    writer.number(at(i));
    writer.number(identity(i));
    if (folders_) writer.number(folders_->classes[i]);
  }

  bool facts(std::uint64_t i, SampleFacts& out) const override {
    const auto [number, sample] = dataset_.position(at(i));
    facts_of(dataset_, number, sample, at(i), out);
    if (folders_) {
      out.label = label(i);
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

  /// Warns of keys that lead outside the directory into which another program unpacks them.
  void tell_of_relative_keys() {
    std::uint64_t count = 0;
    std::string first;
    for (std::uint64_t i = 0; i < size(); ++i) {
      const auto [number, sample] = dataset_.position(at(i));
      const IndexInUse held = dataset_.use_index(number);
      if (!leads_outside(held->key(sample))) continue;
      if (count++ == 0) first = held->key(sample);
    }
    if (count == 0) return;
    NoticeLog log;
    log.warn(fmt::format("{} keys are absolute or have \"..\": made relative (such as \"{}\")", count,
                         printed_key(first)));
    notices_.merge(log, spec_);
  }

  std::string own_key(std::size_t shard, std::string_view key) const { return keys_.name(shard, key); }

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

  void take_classes(const std::string& spec) {
    for (std::uint64_t i = 0; i < size(); ++i) {
      if (dataset_.label(at(i)) == k_no_label) continue;
      throw Error(ErrorCode::invalid_argument, "`class_folders` of samples that have labels",
                  {.path = spec, .key = dataset_.key(at(i)), .hint = "leave `class_folders` out"});
    }
    const auto key = [&](std::uint64_t i) { return dataset_.key(at(i)); };
    folders_ = classes_by_folder(size(), key, spec);
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
        notices_.leave_out(key, NameFilter::k_left_out);
      }
    }
    filter.tell_unmatched(notices_, spec_);
  }

  std::shared_ptr<const Dataset> opened_;
  const Dataset& dataset_ = *opened_;
  std::string spec_;
  SourceOptions options_;
  bool all_ = true;
  std::vector<std::uint64_t> chosen_;  // if not all are chosen
  SampleKeys keys_{dataset_};
  NoticeLog notices_ = dataset_.notices();
  bool encoded_ = false;               // keys are encoded for the destination
  std::optional<FolderClasses> folders_;
  std::vector<std::string> fields_;
  std::optional<std::uint32_t> label_field_;
  std::unordered_map<std::size_t, std::string> identities_;  // of the shard files; empty if there are checksums
  std::vector<std::uint64_t> saved_identities_;              // of the samples, if they were saved
};

class SavedPackedRows : public SavedRows {
 public:
  SavedPackedRows(std::shared_ptr<const Dataset> dataset, const Delivery& delivery,
                  const std::vector<std::string>& classes)
      : dataset_(std::move(dataset)), delivery_(delivery) {
    if (delivery_.class_folders) folders_.emplace().names = classes;
  }

  void add(std::string_view row) override {
    RowReader in(row);
    chosen_.push_back(in.number());
    identities_.push_back(in.number());
    if (folders_) {
      const std::uint64_t number = in.number();
      if (number >= folders_->names.size()) RowReader::refuse();
      folders_->classes.push_back(static_cast<std::uint32_t>(number));
    }
    if (!in.at_end()) RowReader::refuse();
  }

  std::unique_ptr<Source> finish() override {
    return std::make_unique<PackedSource>(dataset_, delivery_, std::move(chosen_), std::move(identities_),
                                          std::move(folders_));
  }

 private:
  std::shared_ptr<const Dataset> dataset_;
  const Delivery& delivery_;
  std::vector<std::uint64_t> chosen_;
  std::vector<std::uint64_t> identities_;
  std::optional<FolderClasses> folders_;
};

class SavedPacked : public SavedSource {
 public:
  explicit SavedPacked(const Json& head)
      : delivery_{.prefixed = head.truth("prefixed"),
                  .encoded = head.truth("encoded"),
                  .class_folders = head.truth("class_folders"),
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
  Delivery delivery_;
  std::vector<std::string> classes_;
  std::shared_ptr<const Dataset> dataset_;
};

}  // namespace

std::unique_ptr<SavedSource> open_saved_packed(const Json& head) { return std::make_unique<SavedPacked>(head); }

std::unique_ptr<Source> open_packed_source(const std::string& spec, const SourceOptions& options) {
  return std::make_unique<PackedSource>(spec, options);
}

}  // namespace bale
