#include "bale/reader/dataset/dataset_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/reader/dataset/class_merge.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/reader/dataset/read_requests.hpp"
#include "bale/reader/spec/dataset_identity.hpp"
#include "bale/reader/spec/shard_spec.hpp"

namespace bale {

Dataset::Dataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Dataset::State::~State() {
  if (!process.is_here()) scan_ahead.release();
}

Dataset Dataset::open(const std::string& spec, const DatasetOptions& options) {
  if (options.counting > Counting::while_read) {
    throw Error(ErrorCode::invalid_argument, "counting is none of Counting");
  }
  auto state = std::make_unique<State>();
  state->options = options;
  const std::string named = with_version(spec, options.version);
  const DatasetSpec resolved = resolve_dataset(options.relative_names ? named : absolute_spec(named));
  state->parts.reserve(resolved.parts.size());  // entries point into them
  for (const DatasetPart& part : resolved.parts) state->add_part(part);
  state->choose_direct_io();
  if (options.salvage) state->leave_out_lost_shards();
  state->count_samples();
  if (!options.direct_io && state->options.direct_io.value_or(false)) state->check_chosen_direct_io();
  state->name_classes();
  if (options.counting == Counting::when_opened) state->options.on_scan = nullptr;
  return Dataset(std::move(state));
}

void Dataset::State::check_shard(std::size_t number) const {
  if (number < entries.size()) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("shard {} of a dataset of {}", number, entries.size()));
}

std::uint64_t Dataset::size() const {
  if (!state_->counter->is_complete()) state_->counts_first = true;
  return state_->counter->count_all();
}
std::uint64_t Dataset::count_beyond(std::uint64_t i) const {
  const std::uint64_t counted = state_->counter->count_beyond(i);
  if (state_->scan_ahead && i < counted) state_->scan_ahead->reached(state_->counter->place(i).first);
  return counted;
}
std::uint64_t Dataset::count_ready(std::uint64_t i) const {
  return state_->counter->count_ready(i, [this](std::size_t shard) { return state_->is_counted_at_once(shard); });
}
std::size_t Dataset::num_counted_shards() const { return state_->counter->num_counted(); }
const std::vector<std::string>& Dataset::fields() const {
  state_->counter->count_all();
  return state_->fields;
}
const std::vector<std::string>& Dataset::classes() const { return state_->classes; }
const DatasetOptions& Dataset::options() const { return state_->options; }
const NoticeLog& Dataset::notices() const {
  state_->counter->count_all();
  return state_->notices;
}
const std::vector<DatasetLoss>& Dataset::losses() const { return state_->losses; }
std::map<std::string, std::string> Dataset::edits() const {
  std::vector<ImageEditNames> edits;
  for (const State::Part& part : state_->parts)
    edits.push_back(part.manifest ? part.manifest->edits : ImageEditNames());
  return merge_edits(edits);
}

const std::optional<Manifest>& Dataset::manifest() const {
  return state_->parts.size() == 1 ? state_->parts.front().manifest : state_->no_manifest;
}
bool Dataset::translates_labels() const { return state_->translates_labels; }

std::size_t Dataset::num_shards() const { return state_->entries.size(); }
const std::string& Dataset::shard_path(std::size_t shard) const { return state_->entry(shard).path; }
std::uint64_t Dataset::shard_size(std::size_t shard) const {
  state_->check_shard(shard);
  const std::uint64_t end = state_->counter->samples_before(shard + 1);
  return end - state_->counter->samples_before(shard);
}
std::shared_ptr<const Shard> Dataset::shard(std::size_t shard) const { return state_->open_shards(shard).share(shard); }
ShardInUse Dataset::use_shard(std::size_t shard) const { return state_->open_shards(shard).use(shard); }
ShardInUse Dataset::use_shard(std::size_t shard, const ShardIdentity& known) const {
  return state_->open_shards(shard).use(shard, known);
}
ShardIdentity Dataset::shard_identity(std::size_t shard) const { return state_->open_shards(shard).identity(shard); }
IndexInUse Dataset::use_index(std::size_t shard) const { return state_->open_shards(shard).use_index(shard); }

std::string Dataset::expected_digest(std::size_t shard) const { return state_->entry(shard).digest(); }

bool Dataset::has_index_file(std::size_t shard) const {
  const State::Entry& entry = state_->entry(shard);
  const PinnedContent content(entry.digest());
  return path_exists(index_path(entry.path));
}

std::shared_ptr<const Layers> Dataset::layers(std::size_t shard) const {
  const State::Entry& entry = state_->entry(shard);
  state_->load_layers(entry);
  return state_->parts[entry.part].layers;
}

void Dataset::State::add_layers(DatasetIdentity& identity) const {
  for (const Part& part : parts) {
    if (!part.layers) continue;
    for (const ManifestLayer& layer : part.layers->listed()) identity.add(layer.digest);
  }
}

std::uint64_t Dataset::identity() const {
  DatasetIdentity identity;
  for (std::size_t number = 0; number < num_shards(); ++number) {
    const ManifestShard* const expected = state_->entry(number).expected;
    if (expected != nullptr) {
      identity.add(expected->digest);
      continue;
    }
    const IndexInUse index = use_index(number);
    if (const auto digest = index->digest()) {
      identity.add(digest_text(*digest));
    } else {
      identity.add(*index);
    }
  }
  state_->add_layers(identity);
  return identity.value();
}

std::uint64_t Dataset::stamp(std::size_t num_shards) const {
  DatasetIdentity identity;
  identity.add(std::to_string(this->num_shards()));
  for (std::size_t number = 0; number < num_shards; ++number) {
    const ManifestShard* const expected = state_->entry(number).expected;
    identity.add(expected != nullptr ? expected->digest : std::to_string(shard_identity(number).index));
  }
  for (const std::string& name : classes()) identity.add(name);
  state_->add_layers(identity);
  return identity.value();
}

std::uint64_t Dataset::identity_of_names() const {
  DatasetIdentity identity;
  for (const State::Entry& entry : state_->entries) identity.add(base_name(entry.path));
  return identity.value();
}

std::uint64_t Dataset::identity_of_samples() const {
  DatasetIdentity identity;
  for (std::size_t number = 0; number < num_shards(); ++number) identity.add(*use_index(number));
  return identity.value();
}

std::pair<std::size_t, std::uint64_t> Dataset::position(std::uint64_t i) const {
  const std::uint64_t counted = state_->counter->count_beyond(i);
  if (i >= counted) {
    throw Error(ErrorCode::invalid_argument, fmt::format("sample {} of a dataset of {}", i, counted));
  }
  return state_->counter->place(i);
}

SampleView Dataset::read(std::uint64_t i, Scratch& scratch) const {
  const auto [number, sample] = position(i);
  const ShardInUse shard = use_shard(number);
  SampleView view = state_->read_kept(state_->entry(number), [&, at = sample] { return shard->read(at, scratch); });
  if (shard.is_counted()) state_->keep_texts(view, scratch);
  if (!state_->labels_of(number).changes_labels()) return view;
  view.label = label_in_shard(number, sample);
  for (FieldView& field : scratch.fields()) {
    if (field.name == k_label_field) field.bytes = state_->translated(number, field.bytes);
  }
  return view;
}

void Dataset::State::keep_texts(SampleView& sample, Scratch& scratch) {
  scratch.text() = sample.key;
  sample.key = scratch.text();
  for (FieldView& field : scratch.fields()) {
    const bool is_fixed = options.counting == Counting::when_opened;  // else names are added in the meantime
    if (const auto known = is_fixed ? known_fields.find(field.name) : known_fields.end(); known != known_fields.end()) {
      field.name = *known;
      continue;
    }
    const std::lock_guard lock(other_fields_mutex);  // a name that the manifest does not have
    field.name = *other_fields.emplace(field.name).first;
  }
}

OwnedSample Dataset::read(std::uint64_t i) const {
  Scratch scratch;
  return OwnedSample(read(i, scratch));
}

std::vector<OwnedSample> Dataset::read_many(std::span<const std::uint64_t> indices, unsigned threads) const {
  std::vector<OwnedSample> samples(indices.size());
  prefetch(indices);
  run_parallel(indices.size(), threads, [&](std::size_t i) { samples[i] = read(indices[i]); });
  return samples;
}

Bytes Dataset::read_field(std::uint64_t i, std::string_view field, Scratch& scratch) const {
  const auto [number, sample] = position(i);
  const ShardInUse shard = use_shard(number);
  const Bytes bytes =
      state_->read_kept(state_->entry(number), [&, at = sample] { return shard->read_field(at, field, scratch); });
  return field == k_label_field ? state_->translated(number, bytes) : bytes;
}

std::string Dataset::key(std::uint64_t i) const {
  const auto [number, sample] = position(i);
  return std::string(use_index(number)->key(sample));
}

std::int64_t Dataset::label(std::uint64_t i) const {
  const auto [number, sample] = position(i);
  return label_in_shard(number, sample);
}

std::int64_t Dataset::label_in_shard(std::size_t shard, std::uint64_t sample) const {
  const IndexInUse index = use_index(shard);
  if (sample >= index->size()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("sample {} of a shard of {}", sample, index->size()));
  }
  return state_->labels_of(shard)(index->label(sample));
}

SampleView Dataset::read(std::string_view key, Scratch& scratch) const {
  const auto found = find(key);
  if (!found) throw Error(ErrorCode::not_found, "the dataset has no such sample", {.key = std::string(key)});
  return read(*found, scratch);
}

OwnedSample Dataset::read(std::string_view key) const {
  Scratch scratch;
  return OwnedSample(read(key, scratch));
}

std::optional<std::uint64_t> Dataset::find(std::string_view key) const {
  for (std::size_t number = 0; number < num_shards(); ++number) {
    if (state_->scan_ahead) state_->scan_ahead->reached(number);
    if (const auto found = use_index(number)->find(key)) return state_->counter->samples_before(number) + *found;
  }
  if (manifest() || num_shards() < 2) return std::nullopt;
  const std::vector<std::string> names = names_apart(shard_paths(*this));
  for (std::size_t number = 0; number < names.size(); ++number) {
    if (!key.starts_with(names[number] + '/')) continue;
    const auto found = use_index(number)->find(key.substr(names[number].size() + 1));
    if (found) return state_->counter->samples_before(number) + *found;
  }
  return std::nullopt;
}

SampleLocation Dataset::locate(std::uint64_t i) const {
  const auto [number, sample] = position(i);
  return {shard_path(number), use_shard(number)->locate(sample)};
}

void Dataset::prefetch(std::span<const std::uint64_t> indices) const {
  std::vector<ReadRequest> requests;
  for (const std::uint64_t i : indices) locate_reads(*this, i, requests);
  merge_reads(requests);
  for (const ReadRequest& request : requests) use_shard(request.shard)->payload().will_need(request.range);
}

// Classes and labels of datasets that are read together.

bool Dataset::State::has_labels(std::size_t part) const {
  for (std::size_t number = 0; number < entries.size(); ++number) {
    if (entries[number].part != part) continue;
    const IndexInUse index = shards->use_index(number);
    for (std::uint64_t i = 0; i < index->size(); ++i) {
      if (index->label(i) >= 0) return true;
    }
  }
  return false;
}

void Dataset::State::name_classes() {
  const auto named = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.classes.empty(); });
  if (named == parts.end() || (parts.size() > 1 && !options.merges_classes)) return;
  std::vector<NamedClasses> datasets;
  for (std::size_t number = 0; number < parts.size(); ++number) {
    const Part& part = parts[number];
    const bool is_labeled = part.classes.empty() && has_labels(number);
    const std::string field = part.classes.empty() ? field_with_numbers(number, /*is_labeled=*/true) : std::string();
    if (is_labeled || !field.empty()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("{} have no class names, those of {} have: which numbers mean the same is not known",
                      is_labeled ? "its labels" : "the numbers in " + printable(field), printable(named->path)),
          {.path = part.path,
           .hint = std::string("read the two apart, or with numbers of their own "
                               "(reading=bale.Reading(labels=\"separate\") in Python), or pack this one again ") +
                   (is_labeled ? "from folders that are named by class" : "with the names of its classes")});
    }
    if (!part.classes.empty()) datasets.push_back({part.path, part.classes});
  }
  MergedClasses merged = merge_classes(datasets);
  classes = std::move(merged.classes);
  auto map = merged.maps.begin();
  for (Part& part : parts) {
    if (!part.classes.empty()) part.labels = std::move(*map++);
    translates_labels = translates_labels || part.labels.changes_labels();
    require_numbers_inside(static_cast<std::size_t>(&part - parts.data()));
  }
  for (std::size_t label = 0; translates_labels && label < classes.size(); ++label) {
    label_texts.push_back(fmt::format_int(label).str());
  }
}

std::string Dataset::State::field_with_numbers(std::size_t part, bool is_labeled) const {
  const auto first = [is_labeled](const auto& stored) -> std::string {
    const auto found = std::find_if(stored.begin(), stored.end(),
                                    [&](const auto& one) { return has_class_numbers(one.name, is_labeled); });
    return found == stored.end() ? std::string() : found->name;
  };
  if (parts[part].manifest) return first(parts[part].manifest->fields);
  std::string field;
  for (std::size_t entry = 0; entry < entries.size() && field.empty(); ++entry) {
    if (entries[entry].part == part) field = first(shards->use_index(entry)->fields());
  }
  return field;
}

void Dataset::State::require_numbers_inside(std::size_t number) const {
  const Part& part = parts[number];
  const auto is_moved = [&](std::int64_t label) {
    return !part.classes[static_cast<std::size_t>(label)].empty() && part.labels(label) != label;
  };
  std::int64_t moved = 0;
  while (moved < std::ssize(part.classes) && !is_moved(moved)) ++moved;
  if (moved == std::ssize(part.classes)) return;
  const std::string field = field_with_numbers(number, has_labels(number));
  if (field.empty()) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("class \"{}\" has the number {} and would get {} with the other datasets, and the field {} "
                          "has the old numbers",
                          printable(part.classes[static_cast<std::size_t>(moved)]), moved, part.labels(moved),
                          printable(field)),
              {.path = part.path,
               .hint = "read it alone, or with numbers of its own (reading=bale.Reading(labels=\"separate\") in "
                       "Python), or pack it again with the classes of the others in the same order"});
}

Bytes Dataset::State::translated(std::size_t shard, Bytes cls) const {
  const std::int64_t label = parse_label(cls);
  if (!labels_of(shard).changes_labels() || label < 0) return cls;
  return as_bytes(label_texts[static_cast<std::size_t>(labels_of(shard)(label))]);
}

}  // namespace bale
