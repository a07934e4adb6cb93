#include "bale/reader/dataset.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/content_error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/parallel.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/registry/shard_salvage.hpp"
#include "bale/formats/shard/remembered_scan.hpp"
#include "bale/reader/class_merge.hpp"
#include "bale/reader/dataset_identity.hpp"
#include "bale/reader/dataset_spec.hpp"
#include "bale/reader/direct_choice.hpp"
#include "bale/reader/read_requests.hpp"
#include "bale/reader/scan_ahead.hpp"
#include "bale/reader/shard_counter.hpp"

namespace bale {
namespace {

constexpr unsigned k_opened_together = 8;  // remote shards
constexpr std::size_t k_scanned_ahead = 4;  // of the shard that is being read
constexpr std::size_t k_local_ahead = 1;    // likewise, on a disk
/// Between the scan of a shard and the last of its samples, the shards ahead of it are fetched and those before it are read. All
/// of these have to fit into the cache.
constexpr std::uint64_t k_share_ahead = 3;

struct Entry {
  std::string path;
  std::size_t part = 0;
  const ManifestShard* expected = nullptr;  // its entry in the manifest, if there is one
  // Set if the shard was salvaged.
  const Format* format = nullptr;
  std::shared_ptr<const ShardIndex> index{};

  std::string digest() const { return expected != nullptr ? expected->digest : std::string(); }
};

/// One of the datasets that are read together.
struct Part {
  std::string path;
  std::optional<Manifest> manifest{};
  std::vector<std::string> classes{};
  LabelMap labels{};
};

/// Class names of shards that were given one by one, if a manifest next to them lists them all; else empty.
std::vector<std::string> classes_beside(const DatasetPart& part) {
  const std::string path = join_path(part.path, k_manifest_name);
  if (!path_exists(path)) return {};
  std::optional<Manifest> read;
  try {
    read = load_manifest(path);
  } catch (const Error&) {  // shards that are given one by one can be read without it
    return {};
  }
  const Manifest& manifest = *read;
  std::set<std::string> files;
  for (const ManifestShard& shard : manifest.shards) files.insert(shard.file);
  const bool names_all = std::all_of(part.shards.begin(), part.shards.end(),
                                     [&](const std::string& shard) { return files.contains(base_name(shard)); });
  return names_all ? manifest.classes : std::vector<std::string>{};
}

void check_against_manifest(const Shard& shard, const ManifestShard& expected) {
  const auto digest = shard.index().digest();
  if (shard.size() == expected.num_samples && (!digest || digest_text(*digest) == expected.digest)) return;
  throw Error(ErrorCode::damaged, "shard and manifest are of different runs",
              {.path = shard.path(), .hint = "copy the whole dataset again"});
}

/// Rethrows the error of a shard that has a manifest: `bale index` never replaces the index of such a shard.
[[noreturn]] void rethrow_stale(const Error& error) {
  throw Error(error.code(), "the file was changed after it was packed",
              {.path = error.context().path,
               .hint = "copy it again; if the change was wanted, remove manifest.json and run `bale index`"});
}

}  // namespace

struct Dataset::State {
  DatasetOptions options;
  std::vector<Part> parts;
  std::vector<Entry> entries;
  std::unique_ptr<OpenShards> shards;
  std::vector<std::string> fields;
  std::set<std::string, std::less<>> known_fields;
  std::mutex other_fields_mutex;
  std::set<std::string> other_fields;
  std::vector<std::string> classes;
  std::vector<std::string> label_texts;  // numbers of the merged classes, as text of `cls` fields
  bool translates_labels = false;
  std::optional<Manifest> no_manifest;
  std::unique_ptr<ShardCounter> counter;
  NoticeLog notices;
  std::vector<DatasetLoss> losses;
  mutable std::mutex scan_mutex;
  mutable std::size_t num_scanned = 0;  // shards whose scan has begun
  std::atomic<bool> counts_first{false};  // the reader waits for all counts before it reads on
  std::unique_ptr<ScanAhead> scan_ahead;  // if shards are counted later; uses the others, so it is destroyed first

  std::optional<std::size_t> first_local_shard() const {
    for (std::size_t number = 0; number < entries.size(); ++number) {
      if (remote_storage_of(entries[number].path) == nullptr) return number;
    }
    return std::nullopt;
  }

  /// Decides DatasetOptions::direct_io, if that was not done by the caller.
  void choose_direct_io() {
    if (options.direct_io) return;
    options.direct_io = false;
    if (options.counting != Counting::when_opened) return;
    const std::optional<std::uint64_t> memory = memory_for_files();
    std::vector<SizedFile> files;
    for (const Entry& entry : entries) {
      if (remote_storage_of(entry.path) != nullptr) continue;
      files.push_back({entry.path, entry.expected != nullptr ? entry.expected->bytes : file_size(entry.path).value_or(0)});
    }
    options.direct_io = prefers_direct_io(files, memory);
  }

  /// Other readers read ahead through the page cache: if shards cannot be read around it, say so.
  void check_chosen_direct_io() {
    const std::optional<std::size_t> first = first_local_shard();
    try {
      options.direct_io = first && shards->use(*first)->is_direct();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted) throw;
      options.direct_io = false;  // reading the shard says what is wrong
    }
  }

  ShardOpenOptions opening() const {
    return {.verify_checksums = options.verify_checksums, .direct_io = options.direct_io.value_or(false)};
  }

  Shard open_anew(const Entry& entry, const ShardOpenOptions& opening) const {
    if (options.format == nullptr) return open_shard(entry.path, opening);
    const std::string beside = index_path(entry.path);
    ShardIndex index =
        path_exists(beside) ? ShardIndex::load(beside) : scan_shard(entry.path, *options.format);
    return Shard::open(entry.path, *options.format, std::move(index), opening);
  }

  /// Opens every shard and leaves out those that cannot be opened. Throws the first error if none can be opened.
  void leave_out_lost_shards() {
    const ShardOpenOptions opening = this->opening();
    std::optional<Error> first;
    std::vector<Entry> kept;
    for (Entry& entry : entries) {
      const auto expected = entry.expected != nullptr ? std::optional(entry.expected->num_samples) : std::nullopt;
      try {
        SalvagedShard salvaged = salvage_shard(entry.path, options.format, opening);
        const std::uint64_t size = salvaged.shard.size();
        if (!salvaged.loss.empty()) {
          losses.push_back({entry.path, std::move(salvaged.loss),
                            expected && *expected >= size ? std::optional(*expected - size) : salvaged.num_lost});
        } else if (entry.expected != nullptr) {
          check_against_manifest(salvaged.shard, *entry.expected);
        }
        entry.format = &salvaged.shard.format();
        entry.index = salvaged.shard.shared_index();
        kept.push_back(std::move(entry));
      } catch (const Error& error) {
        if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;
        if (remote_storage_of(entry.path) != nullptr && !is_about_content(error)) throw;
        losses.push_back({entry.path, error.what(), expected});
        if (!first) first = error;
      }
    }
    if (kept.empty() && first) throw Error(*first);
    entries = std::move(kept);
  }

  Shard open(std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index) const {
    const Entry& entry = entries[number];
    ShardOpenOptions opening = this->opening();
    opening.check_size = entry.index == nullptr;  // a salvaged shard may be shorter than it was
    const PinnedContent content(entry.digest());
    if (index) return Shard::open(entry.path, *format, index, opening);
    if (entry.index) return Shard::open(entry.path, *entry.format, entry.index, opening);
    if (entry.expected == nullptr) return open_unlisted(entry, opening);
    try {
      return open_listed(entry, opening);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::changed) rethrow_stale(error);
      throw;
    }
  }

  /// Opens a shard that a manifest lists. Of a remote one the cache may have files of an older dataset: then they are
  /// asked for again.
  Shard open_listed(const Entry& entry, const ShardOpenOptions& opening) const {
    const auto open_now = [&] {
      Shard shard = open_anew(entry, opening);
      check_against_manifest(shard, *entry.expected);
      return shard;
    };
    if (const Storage* const storage = remote_storage_of(entry.path)) {
      try {
        return open_now();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::changed && error.code() != ErrorCode::damaged) throw;
        for (const std::string& path : {entry.path, index_path(entry.path)}) storage->ask_again(path);
      }
    }
    return open_now();
  }

  /// Opens a shard that no manifest lists.
  Shard open_unlisted(const Entry& entry, const ShardOpenOptions& opening) const {
    const Storage* const storage = remote_storage_of(entry.path);
    if (storage == nullptr || options.counting == Counting::when_opened) return open_anew(entry, opening);
    const File file = File::open_read(entry.path);  // while it is open, what is fetched is known
    if (needs_scan(entry.path)) {
      report_scan();
      if (is_fetched_whole(file.size(), *storage)) file.advise_will_need(0, file.size());
    }
    return open_anew(entry, opening);
  }

  /// Whether a shard that is scanned later is fetched as a whole: it stays in the cache until its samples are read.
  bool is_fetched_whole(std::uint64_t bytes, const Storage& storage) const {
    const std::uint64_t room = storage.cache_bytes();
    if (options.counting == Counting::while_read && !counts_first) return bytes <= room / k_share_ahead;
    return bytes <= room / std::max<std::size_t>(entries.size(), 1);  // about as many bytes in each of them
  }

  void add_field(const std::string& name) {
    if (known_fields.insert(name).second) fields.push_back(name);
  }

  void add_part(const DatasetPart& named) {
    Part& part = parts.emplace_back(Part{.path = named.path});
    for (const std::string& path : named.shards) entries.push_back({.path = path, .part = parts.size() - 1});
    if (named.manifest_path.empty()) {
      part.classes = classes_beside(named);
      return;
    }
    part.manifest = load_manifest(named.manifest_path);
    part.classes = part.manifest->classes;
    for (const ManifestField& field : part.manifest->fields) add_field(field.name);
    for (const ManifestShard& shard : part.manifest->shards) {
      entries.push_back({.path = join_name(parent_directory(named.manifest_path), shard.file),
                         .part = parts.size() - 1,
                         .expected = &shard});
    }
  }

  /// Opens the remote shards that no manifest lists, several at a time: each waits for its server. Those that must be
  /// scanned are fetched as a whole if the cache has room for all: their samples are read next, and one request per header
  /// takes longer.
  void open_unlisted_remote() {
    std::vector<std::size_t> unlisted;
    const Storage* storage = nullptr;
    for (std::size_t number = 0; number < entries.size(); ++number) {
      if (entries[number].expected != nullptr || entries[number].index) continue;
      if (const Storage* const served = remote_storage_of(entries[number].path)) {
        storage = served;
        unlisted.push_back(number);
      }
    }
    if (unlisted.empty()) return;
    std::atomic<std::uint64_t> bytes{0};
    run_parallel(unlisted.size(), k_opened_together,
                 [&](std::size_t i) { bytes += file_size(entries[unlisted[i]].path).value_or(0); });
    const bool has_room = bytes.load() <= storage->cache_bytes();
    run_parallel(unlisted.size(), k_opened_together, [&](std::size_t i) {
      const std::string& path = entries[unlisted[i]].path;
      const File file = File::open_read(path);  // while it is open, what is fetched is known
      const bool scans = needs_scan(path);
      if (scans) report_scan();
      if (has_room && scans) file.advise_will_need(0, file.size());
      shards->use_index(unlisted[i]);
    });
  }

  /// Counts a shard that is about to be scanned.
  void report_scan() const {
    if (!options.on_scan) return;
    const std::lock_guard lock(scan_mutex);
    options.on_scan(num_scanned++, entries.size());
  }

  /// Shards without a manifest must be opened to count their samples.
  void count_samples() {
    shards = std::make_unique<OpenShards>(
        entries.size(),
        [this](std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index) {
          return open(number, format, index);
        },
        options.salvage ? std::numeric_limits<std::uint64_t>::max() : options.index_budget);  // entries keep salvaged indexes
    counter = std::make_unique<ShardCounter>(entries.size(), [this](std::size_t number) { return count(number); });
    if (options.counting != Counting::when_opened && !has_shard_to_scan()) options.counting = Counting::when_opened;
    if (options.counting != Counting::when_opened) return start_scan_ahead();
    open_unlisted_remote();
    counter->count_all();
  }

  /// Number of samples of a shard. Adds what only its index says of it.
  std::uint64_t count(std::size_t number) {
    const Entry& entry = entries[number];
    if (scan_ahead && !is_counted_at_once(number)) scan_ahead->reached(number);
    if (entry.expected != nullptr) return entry.index ? entry.index->size() : entry.expected->num_samples;
    const bool is_local = remote_storage_of(entry.path) == nullptr;
    if (options.on_scan && is_local && !entry.index && !path_exists(index_path(entry.path))) report_scan();
    const IndexInUse index = shards->use_index(number);
    notices.merge(index->notices(), entry.path);
    for (const FieldInfo& field : index->fields()) add_field(field.name);
    return index->size();
  }

  bool is_counted_at_once(std::size_t number) const {
    return entries[number].expected != nullptr || shards->has_index(number);
  }

  /// Whether the first shard that no manifest lists has no index. Then the others will have none, too.
  bool has_shard_to_scan() const {
    const auto first = std::find_if(entries.begin(), entries.end(),
                                    [](const Entry& entry) { return entry.expected == nullptr && !entry.index; });
    try {
      return first != entries.end() && !path_exists(index_path(first->path));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::interrupted) throw;
      return false;  // opening the shard says what is wrong
    }
  }

  void start_scan_ahead() {
    const bool reads = options.counting == Counting::while_read;
    const auto is_opened_ahead = [reads](const Entry& entry) {
      return entry.expected == nullptr && !entry.index && (reads || remote_storage_of(entry.path) != nullptr);
    };
    if (std::none_of(entries.begin(), entries.end(), is_opened_ahead)) return;
    const Storage* storage = nullptr;
    for (auto entry = entries.begin(); entry != entries.end() && storage == nullptr; ++entry) {
      if (is_opened_ahead(*entry)) storage = remote_storage_of(entry->path);
    }
    const bool is_cached = reads && storage != nullptr && storage->cache_bytes() > 0;
    const std::size_t ahead_of_server = is_cached ? k_scanned_ahead : k_opened_together;
    scan_ahead = std::make_unique<ScanAhead>(ScanAheadOptions{
        .num_shards = entries.size(),
        .shards_ahead = storage == nullptr ? k_local_ahead : ahead_of_server,
        .bytes_ahead = is_cached ? storage->cache_bytes() / k_share_ahead : std::numeric_limits<std::uint64_t>::max(),
        .size_of = [this, is_opened_ahead](std::size_t number) -> std::uint64_t {
          return is_opened_ahead(entries[number]) ? file_size(entries[number].path).value_or(0) : 0;
        },
        .open = [this, is_opened_ahead](std::size_t number) {
          if (is_opened_ahead(entries[number])) shards->use_index(number);
        }});
  }

  bool has_labels(std::size_t part) const {
    for (std::size_t number = 0; number < entries.size(); ++number) {
      if (entries[number].part != part) continue;
      const IndexInUse index = shards->use_index(number);
      for (std::uint64_t i = 0; i < index->size(); ++i) {
        if (index->label(i) >= 0) return true;
      }
    }
    return false;
  }

  void name_classes() {
    const auto named = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.classes.empty(); });
    if (named == parts.end()) return;
    std::vector<NamedClasses> datasets;
    for (std::size_t number = 0; number < parts.size(); ++number) {
      const Part& part = parts[number];
      if (part.classes.empty() && has_labels(number)) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("its labels have no class names, those of {} have: which numbers mean the same is not known",
                        printable(named->path)),
            {.path = part.path,
             .hint = "read the two apart, or pack this one again from folders that are named by class"});
      }
      if (!part.classes.empty()) datasets.push_back({part.path, part.classes});
    }
    MergedClasses merged = merge_classes(datasets);
    classes = std::move(merged.classes);
    auto map = merged.maps.begin();
    for (Part& part : parts) {
      if (!part.classes.empty()) part.labels = std::move(*map++);
      translates_labels = translates_labels || part.labels.changes_labels();
    }
    for (std::size_t label = 0; translates_labels && label < classes.size(); ++label) {
      label_texts.push_back(fmt::format_int(label).str());
    }
  }

  /// The shard's index, which has the texts of a sample, may be dropped: the sample gets the key from its Scratch, and the
  /// names of its fields from here.
  void keep_texts(SampleView& sample, Scratch& scratch) {
    scratch.text() = sample.key;
    sample.key = scratch.text();
    for (FieldView& field : scratch.fields()) {
      const bool is_fixed = options.counting == Counting::when_opened;  // else names are added meanwhile
      if (const auto known = is_fixed ? known_fields.find(field.name) : known_fields.end(); known != known_fields.end()) {
        field.name = *known;
        continue;
      }
      const std::lock_guard lock(other_fields_mutex);  // a name that the manifest does not have
      field.name = *other_fields.emplace(field.name).first;
    }
  }

  const LabelMap& labels_of(std::size_t shard) const { return parts[entries[shard].part].labels; }

  /// Translates a `cls` field that has the shard's own label to the dataset's label.
  Bytes translated(std::size_t shard, Bytes cls) const {
    const std::int64_t label = parse_label(cls);
    if (!labels_of(shard).changes_labels() || label < 0) return cls;
    return as_bytes(label_texts[static_cast<std::size_t>(labels_of(shard)(label))]);
  }
};

Dataset::Dataset(std::unique_ptr<State> state) : state_(std::move(state)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Dataset Dataset::open(const std::string& spec, const DatasetOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  const DatasetSpec resolved = resolve_dataset(spec);
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
  std::map<std::string, std::set<std::string>> found;
  for (const Part& part : state_->parts) {
    if (!part.manifest) continue;
    for (const auto& [name, value] : part.manifest->edits) found[name].insert(value);
  }
  std::map<std::string, std::string> edits;
  for (const auto& [name, values] : found) {
    const auto has_it = [&edit = name](const Part& part) {
      return part.manifest && part.manifest->edits.contains(edit);
    };
    const bool all = values.size() == 1 && std::all_of(state_->parts.begin(), state_->parts.end(), has_it);
    edits[name] = fmt::format("{}{}", fmt::join(values, " or "), all ? "" : " (some images)");
  }
  return edits;
}

const std::optional<Manifest>& Dataset::manifest() const {
  return state_->parts.size() == 1 ? state_->parts.front().manifest : state_->no_manifest;
}
bool Dataset::translates_labels() const { return state_->translates_labels; }

std::size_t Dataset::num_shards() const { return state_->entries.size(); }
const std::string& Dataset::shard_path(std::size_t shard) const { return state_->entries[shard].path; }
std::uint64_t Dataset::shard_size(std::size_t shard) const {
  const std::uint64_t end = state_->counter->samples_before(shard + 1);
  return end - state_->counter->samples_before(shard);
}
std::shared_ptr<const Shard> Dataset::shard(std::size_t shard) const { return state_->shards->share(shard); }
ShardInUse Dataset::use_shard(std::size_t shard) const { return state_->shards->use(shard); }
IndexInUse Dataset::use_index(std::size_t shard) const { return state_->shards->use_index(shard); }

std::string Dataset::expected_digest(std::size_t shard) const { return state_->entries[shard].digest(); }

bool Dataset::has_index_file(std::size_t shard) const {
  const Entry& entry = state_->entries[shard];
  const PinnedContent content(entry.digest());
  return path_exists(index_path(entry.path));
}

std::uint64_t Dataset::identity() const {
  DatasetIdentity identity;
  for (std::size_t number = 0; number < num_shards(); ++number) {
    const ManifestShard* const expected = state_->entries[number].expected;
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
  return identity.value();
}

std::uint64_t Dataset::identity_of_names() const {
  DatasetIdentity identity;
  for (const Entry& entry : state_->entries) {
    const std::string& path = entry.path;
    const bool is_remote = remote_storage_of(path) != nullptr;  // a signature may follow its name
    identity.add(base_name(is_remote ? path.substr(0, path.find('?')) : path));
  }
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
  SampleView view = shard->read(sample, scratch);
  if (shard.is_counted()) state_->keep_texts(view, scratch);
  if (!state_->labels_of(number).changes_labels()) return view;
  view.label = label_in_shard(number, sample);
  for (FieldView& field : scratch.fields()) {
    if (field.name == k_label_field) field.bytes = state_->translated(number, field.bytes);
  }
  return view;
}

Bytes Dataset::read_field(std::uint64_t i, std::string_view field, Scratch& scratch) const {
  const auto [number, sample] = position(i);
  const Bytes bytes = use_shard(number)->read_field(sample, field, scratch);
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
  return state_->labels_of(shard)(use_index(shard)->label(sample));
}

std::optional<std::uint64_t> Dataset::find(std::string_view key) const {
  for (std::size_t number = 0; number < num_shards(); ++number) {
    if (state_->scan_ahead) state_->scan_ahead->reached(number);
    if (const auto found = use_index(number)->find(key)) return state_->counter->samples_before(number) + *found;
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

}  // namespace bale
