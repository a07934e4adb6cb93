#include "bale/reader/dataset.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "bale/reader/dataset_spec.hpp"
#include "bale/reader/read_requests.hpp"

namespace bale {
namespace {

/// One shard, opened on first use.
struct Entry {
  std::string path;
  std::uint64_t first_sample = 0;
  const ManifestShard* expected = nullptr;  // its line of the manifest, where there is one
  std::once_flag once{};
  std::unique_ptr<const Shard> shard{};
};

}  // namespace

struct Dataset::State {
  DatasetOptions options;
  std::optional<Manifest> manifest;
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<std::string> fields;
  std::vector<std::string> no_classes;
  std::uint64_t num_samples = 0;
  NoticeLog notices;

  const Shard& open(std::size_t number) const {
    Entry& entry = *entries[number];
    std::call_once(entry.once, [&] {
      auto shard = std::make_unique<Shard>(Shard::open(
          entry.path, ShardOpenOptions{.verify_checksums = options.verify_checksums, .direct_io = options.direct_io}));
      if (entry.expected != nullptr) check_against_manifest(*shard, *entry.expected);
      entry.shard = std::move(shard);
    });
    return *entry.shard;
  }

  static void check_against_manifest(const Shard& shard, const ManifestShard& expected) {
    const auto digest = shard.index().digest();
    if (shard.size() == expected.num_samples && (!digest || digest_text(*digest) == expected.digest)) return;
    throw Error(ErrorCode::damaged, "shard and manifest are of different runs",
                {.path = shard.path(), .hint = "copy the whole dataset again"});
  }

  void add_shards(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      auto entry = std::make_unique<Entry>();
      entry->path = path;
      entries.push_back(std::move(entry));
    }
  }

  void use_manifest(const std::string& path) {
    manifest = load_manifest(path);
    for (const ManifestShard& shard : manifest->shards) {
      auto entry = std::make_unique<Entry>();
      entry->path = join_path(parent_directory(path), shard.file);
      entry->first_sample = num_samples;
      entry->expected = &shard;
      num_samples += shard.num_samples;
      entries.push_back(std::move(entry));
    }
    for (const ManifestField& field : manifest->fields) fields.push_back(field.name);
  }

  /// Without a manifest every shard must be opened to know how many samples there are.
  void count_samples() {
    for (std::size_t number = 0; number < entries.size(); ++number) {
      entries[number]->first_sample = num_samples;
      const Shard& shard = open(number);
      num_samples += shard.size();
      notices.merge(shard.index().notices(), entries[number]->path);
      for (const FieldInfo& field : shard.index().fields()) {
        if (std::find(fields.begin(), fields.end(), field.name) == fields.end()) fields.push_back(field.name);
      }
    }
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
  if (!resolved.manifest_path.empty()) {
    state->use_manifest(resolved.manifest_path);
  } else {
    state->add_shards(resolved.shards);
    state->count_samples();
  }
  return Dataset(std::move(state));
}

std::uint64_t Dataset::size() const { return state_->num_samples; }
const std::vector<std::string>& Dataset::fields() const { return state_->fields; }
const std::vector<std::string>& Dataset::classes() const {
  return state_->manifest ? state_->manifest->classes : state_->no_classes;
}
const DatasetOptions& Dataset::options() const { return state_->options; }
const NoticeLog& Dataset::notices() const { return state_->notices; }
const std::optional<Manifest>& Dataset::manifest() const { return state_->manifest; }

std::size_t Dataset::num_shards() const { return state_->entries.size(); }
const std::string& Dataset::shard_path(std::size_t shard) const { return state_->entries[shard]->path; }
std::uint64_t Dataset::shard_size(std::size_t shard) const {
  const bool last = shard + 1 == state_->entries.size();
  const std::uint64_t end = last ? state_->num_samples : state_->entries[shard + 1]->first_sample;
  return end - state_->entries[shard]->first_sample;
}
const Shard& Dataset::shard(std::size_t shard) const { return state_->open(shard); }

std::pair<std::size_t, std::uint64_t> Dataset::position(std::uint64_t i) const {
  if (i >= size()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("sample {} of a dataset of {}", i, size()));
  }
  const auto after = std::upper_bound(state_->entries.begin(), state_->entries.end(), i,
                                      [](std::uint64_t at, const auto& entry) { return at < entry->first_sample; });
  const auto number = static_cast<std::size_t>(after - state_->entries.begin()) - 1;
  return {number, i - state_->entries[number]->first_sample};
}

SampleView Dataset::read(std::uint64_t i, Scratch& scratch) const {
  const auto [number, sample] = position(i);
  return shard(number).read(sample, scratch);
}

Bytes Dataset::read_field(std::uint64_t i, std::string_view field, Scratch& scratch) const {
  const auto [number, sample] = position(i);
  return shard(number).read_field(sample, field, scratch);
}

std::string_view Dataset::key(std::uint64_t i) const {
  const auto [number, sample] = position(i);
  return shard(number).index().key(sample);
}

std::int64_t Dataset::label(std::uint64_t i) const {
  const auto [number, sample] = position(i);
  return shard(number).index().label(sample);
}

std::optional<std::uint64_t> Dataset::find(std::string_view key) const {
  for (std::size_t number = 0; number < num_shards(); ++number) {
    if (const auto found = shard(number).index().find(key)) return state_->entries[number]->first_sample + *found;
  }
  return std::nullopt;
}

SampleLocation Dataset::locate(std::uint64_t i) const {
  const auto [number, sample] = position(i);
  return {shard_path(number), shard(number).locate(sample)};
}

void Dataset::prefetch(std::span<const std::uint64_t> indices) const {
  std::vector<ReadRequest> requests;
  for (const std::uint64_t i : indices) locate_reads(*this, i, requests);
  merge_reads(requests);
  for (const ReadRequest& request : requests) shard(request.shard).payload().will_need(request.range);
}

}  // namespace bale
