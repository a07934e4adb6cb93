#include "bale/formats/shard/layer.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/layer_header.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_layer_bytes = std::uint64_t{4} << 30;
constexpr const char* k_copy_hint = "copy the whole dataset again";

/// Values in layers have offsets from k_label_text on: 18 bits of the layer's number, from 1, and 44 of the offset.
constexpr unsigned k_place_bits = 44;
constexpr std::uint64_t k_first_place = Extent::k_label_text + (std::uint64_t{1} << k_place_bits);
constexpr std::uint64_t k_places_end = std::uint64_t{1} << 63;
constexpr std::size_t k_max_layers = ((k_places_end - Extent::k_label_text) >> k_place_bits) - 1;

struct LayerShardRow {
  std::uint8_t digest[16];
  std::uint64_t end;  // of its rows, among those of all shards
};
static_assert(sizeof(LayerShardRow) == 24);

using LayerRow = std::uint32_t;
using LayerLabel = std::int64_t;

std::uint64_t bytes_per_row(LayerKind kind) {
  return sizeof(LayerRow) + (kind == LayerKind::label ? sizeof(LayerLabel) : 0);
}

std::uint64_t num_rows_of(const Layer& layer) {
  return std::accumulate(layer.shards.begin(), layer.shards.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Layer::OfShard& of) { return sum + of.rows.size(); });
}

template <typename T>
void append(std::vector<std::byte>& out, const T& value) {
  const Bytes bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Follows "xxh3:" in the text of a digest.
std::string_view digits_of(std::string_view digest_text) { return digest_text.substr(digest_text.find(':') + 1); }

}  // namespace

std::string_view name_of(LayerKind kind) {
  return kind == LayerKind::removed ? "removed" : kind == LayerKind::label ? "label" : "field";
}

std::string field_layer_kind(std::string_view field) { return fmt::format("{} {}", name_of(LayerKind::field), field); }

std::optional<std::string> field_of_layer(const ManifestLayer& layer) {
  const std::string begin = field_layer_kind({});
  return layer.kind.starts_with(begin) ? std::optional(layer.kind.substr(begin.size())) : std::nullopt;
}

bool is_in_layer(const Extent& extent) { return extent.offset >= k_first_place && extent.offset < k_places_end; }
bool is_in_container(const Extent& extent) { return !extent.is_label_text() && !is_in_layer(extent); }

std::vector<std::byte> layer_bytes(const Layer& layer) {
  std::vector<std::byte> out(sizeof(LayerHeader));
  LayerHeader header{};
  std::memcpy(header.magic, k_layer_magic, sizeof k_layer_magic);
  header.version = k_layer_version;
  header.kind = static_cast<std::uint32_t>(layer.kind);
  header.num_shards = layer.shards.size();
  for (const Layer::OfShard& of : layer.shards) {
    LayerShardRow row{};
    std::copy(of.shard.begin(), of.shard.end(), std::begin(row.digest));
    row.end = header.num_rows += of.rows.size();
    append(out, row);
  }
  for (const Layer::OfShard& of : layer.shards) {
    for (const LayerRow row : of.rows) append(out, row);
  }
  for (const Layer::OfShard& of : layer.shards) {
    for (const LayerLabel label : of.labels) append(out, label);
  }
  header.file_bytes = out.size();
  header.body_crc32c = crc32c(Bytes(out).subspan(sizeof header));
  seal_header(header);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Layer parse_layer(Bytes bytes, const std::string& path) {
  const auto fail = [&](std::string_view why) { fail_damaged_layer(path, why); };
  const LayerHeader header = load_layer_header(bytes, path);
  if (header.kind != static_cast<std::uint32_t>(LayerKind::removed) &&
      header.kind != static_cast<std::uint32_t>(LayerKind::label)) {
    throw Error(ErrorCode::unsupported, fmt::format("layer of kind {}", header.kind),
                {.path = path, .hint = "use a newer bale"});
  }
  Layer layer{.kind = static_cast<LayerKind>(header.kind)};
  const Bytes body = bytes.subspan(sizeof header);
  const std::uint64_t most_shards = body.size() / sizeof(LayerShardRow);
  const std::uint64_t most_rows = body.size() / bytes_per_row(layer.kind);
  if (header.file_bytes != bytes.size() || header.num_shards > most_shards || header.num_rows > most_rows ||
      header.num_shards * sizeof(LayerShardRow) + header.num_rows * bytes_per_row(layer.kind) != body.size()) {
    fail("its size contradicts its header");
  }
  if (crc32c(body) != header.body_crc32c) fail("checksum does not match");

  const std::byte* const rows = body.data() + header.num_shards * sizeof(LayerShardRow);
  const std::byte* const labels = rows + header.num_rows * sizeof(LayerRow);
  std::uint64_t at = 0;
  for (std::uint64_t number = 0; number < header.num_shards; ++number) {
    const auto shard = load_at<LayerShardRow>(body.data() + number * sizeof(LayerShardRow));
    Layer::OfShard of;
    std::copy(std::begin(shard.digest), std::end(shard.digest), of.shard.begin());
    if (number > 0 && !(layer.shards.back().shard < of.shard)) fail("shards out of order");
    if (shard.end <= at || shard.end > header.num_rows) fail("rows of shards out of order");
    of.rows.reserve(shard.end - at);
    if (layer.kind == LayerKind::label) of.labels.reserve(shard.end - at);
    for (; at < shard.end; ++at) {
      const auto row = load_at<LayerRow>(rows + at * sizeof(LayerRow));
      if (!of.rows.empty() && row <= of.rows.back()) fail("rows out of order");
      of.rows.push_back(row);
      if (layer.kind == LayerKind::label) of.labels.push_back(load_at<LayerLabel>(labels + at * sizeof(LayerLabel)));
    }
    layer.shards.push_back(std::move(of));
  }
  if (at != header.num_rows) fail("rows of no shard");
  return layer;
}

ManifestLayer describe_layer(const Layer& layer, Bytes content) {
  return {.kind = std::string(name_of(layer.kind)),
          .digest = digest_of_content(content),
          .num_rows = num_rows_of(layer),
          .bytes = content.size()};
}

std::string layer_name(std::string_view digest_text) {
  return fmt::format("{}/{}{}", k_layers_name, digits_of(digest_text), k_layer_suffix);
}

namespace {

/// The digest of a text as digest_text() writes it; nullopt for any other.
std::optional<Digest> digest_of(std::string_view text) {
  const std::string_view digits = digits_of(text);
  Digest digest{};
  if (!text.starts_with("xxh3:") || digits.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const end = digits.data() + 2 * (i + 1);
    if (std::from_chars(end - 2, end, digest[i], 16).ptr != end) return std::nullopt;
  }
  return digest;
}

/// Each row once; of several labels the last one counts.
void sort_rows(ShardAmendments& amendments) {
  std::vector<std::uint32_t>& removed = amendments.removed;
  std::sort(removed.begin(), removed.end());
  removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
  auto& labels = amendments.labels;
  const auto not_above = [](const auto& a, const auto& b) { return a.first >= b.first; };
  if (std::adjacent_find(labels.begin(), labels.end(), not_above) == labels.end()) return;  // those of one layer
  std::reverse(labels.begin(), labels.end());
  std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  labels.erase(
      std::unique(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
      labels.end());
}

/// Whether the file has a layer of a field. Its manifest says so, if it is known.
bool is_field_file(const std::string& path, const ManifestLayer* expected) {
  if (expected != nullptr) return field_of_layer(*expected).has_value();
  std::vector<std::byte> start(sizeof(LayerHeader));
  start.resize(File::open_read(path).read_some(0, start));
  return start.size() == sizeof(LayerHeader) &&
         load_at<LayerHeader>(start.data()).kind == static_cast<std::uint32_t>(LayerKind::field);
}

}  // namespace

/// The files of layers, and what was read of them.
struct Layers::Files {
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const {
      return std::hash<std::string_view>()(as_text(std::as_bytes(std::span(digest))));
    }
  };
  using Shards = std::unordered_map<Digest, ShardAmendments, DigestHash>;
  struct Field {
    std::once_flag once{};
    std::optional<FieldLayer> layer{};
  };

  std::vector<std::string> paths;
  std::vector<ManifestLayer> listed{};  // by number of the layer; empty if it is not known
  std::deque<Field> fields{};           // by number of the layer; used for fields only
  std::timed_mutex mutex{};
  std::atomic<bool> is_loaded{false};
  Shards shards{};  // if they are loaded

  explicit Files(std::vector<std::string> named) : paths(std::move(named)), fields(paths.size()) {}

  void load() {
    if (is_loaded.load(std::memory_order_acquire)) return;
    const auto locked = polling_lock(mutex, k_remote_poll_interval, poll_remote_wait);  // as for indexes
    if (is_loaded.load(std::memory_order_relaxed)) return;
    Shards read;
    for (std::size_t number = 0; number < paths.size(); ++number) add_file(number, read);
    for (auto& [digest, amendments] : read) sort_rows(amendments);
    shards = std::move(read);
    is_loaded.store(true, std::memory_order_release);
  }

  const FieldLayer& field(std::size_t number) {
    Field& field = fields[number];
    std::call_once(field.once, [&] { field.layer = FieldLayer::open(paths[number]); });
    return *field.layer;
  }

 private:
  void add_file(std::size_t number, Shards& read) {
    const std::string& path = paths[number];
    const ManifestLayer* const said = listed.empty() ? nullptr : &listed[number];
    const auto require_expected = [&](std::string_view kind, std::uint64_t num_rows) {
      if (said != nullptr && (said->kind != kind || said->num_rows != num_rows))
        fail_damaged_layer(path, "is not what the manifest says");
    };
    if (is_field_file(path, said)) {
      const FieldLayer& layer = field(number);
      require_expected(field_layer_kind(layer.field()), layer.num_rows());
      for (std::size_t n = 0; n < layer.shards().size(); ++n)
        read[layer.shards()[n].shard].field_parts.emplace_back(number, n);
      return;
    }
    const Layer layer = read_twice_if_damaged(path, [&] {
      const std::vector<std::byte> content = read_file(path, k_max_layer_bytes);
      if (base_name(layer_name(digest_of_content(content))) != base_name(path))
        fail_damaged_layer(path, "its name is not its digest");
      Layer parsed = parse_layer(content, path);
      require_expected(name_of(parsed.kind), num_rows_of(parsed));
      return parsed;
    });
    for (const Layer::OfShard& of : layer.shards) {
      ShardAmendments& amendments = read[of.shard];
      if (layer.kind == LayerKind::removed) {
        amendments.removed.insert(amendments.removed.end(), of.rows.begin(), of.rows.end());
      }
      for (std::size_t i = 0; i < of.labels.size(); ++i) amendments.labels.emplace_back(of.rows[i], of.labels[i]);
    }
  }
};

Layers::Layers(std::vector<std::string> paths)
    : files_(paths.empty() ? nullptr : std::make_shared<Files>(std::move(paths))) {}

Layers::Layers(const std::string& directory, const Manifest& manifest) {
  if (manifest.layers.empty()) return;
  std::vector<std::string> paths;
  for (const ManifestLayer& layer : manifest.layers) paths.push_back(join_name(directory, layer_name(layer.digest)));
  files_ = std::make_shared<Files>(std::move(paths));
  files_->listed = manifest.layers;
}

const std::vector<std::string>& Layers::paths() const {
  static const std::vector<std::string> k_none;
  return files_ ? files_->paths : k_none;
}

const std::vector<ManifestLayer>& Layers::listed() const {
  static const std::vector<ManifestLayer> k_none;
  return files_ ? files_->listed : k_none;
}

void Layers::load() const {
  if (files_) files_->load();
}

const ShardAmendments* Layers::of(const std::string& digest_text) const {
  if (!files_) return nullptr;
  load();
  const std::optional<Digest> digest = digest_of(digest_text);
  const auto found = digest ? files_->shards.find(*digest) : files_->shards.end();
  return found == files_->shards.end() ? nullptr : &found->second;
}

/// Adds the values of one layer, which take precedence over those that are there.
void add_values(const FieldLayer& layer, std::size_t number, std::size_t shard, std::vector<AmendedField>& fields) {
  auto field = std::find_if(fields.begin(), fields.end(),
                            [&](const AmendedField& known) { return known.name == layer.field(); });
  if (field == fields.end()) field = fields.insert(field, {.name = layer.field()});
  if (number >= k_max_layers) {
    throw Error(ErrorCode::unsupported, "the version has too many layers",
                {.path = layer.path(), .hint = "`bale rewrite` applies them"});
  }
  const std::uint64_t base = Extent::k_label_text + ((number + 1) << k_place_bits);
  std::uint64_t at = layer.values_at(shard);
  std::vector<std::pair<std::uint32_t, Extent>> values;
  for (const FieldLayerRow& row : layer.rows(shard)) {
    const std::uint64_t bytes = layer.prefix().size() + row.bytes;
    if (at >> k_place_bits != 0 || bytes > std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorCode::unsupported, "the layer is too large", {.path = layer.path()});
    values.emplace_back(row.row,
                        Extent{.offset = base + at, .length = static_cast<std::uint32_t>(bytes), .crc32c = row.crc32c});
    at += row.bytes;
  }
  std::vector<std::pair<std::uint32_t, Extent>> all;
  const auto by_row = [](const auto& a, const auto& b) { return a.first < b.first; };
  // Of equal rows, those of the first range come first, and the others are dropped.
  std::merge(values.begin(), values.end(), field->values.begin(), field->values.end(), std::back_inserter(all), by_row);
  const auto same_row = [](const auto& a, const auto& b) { return a.first == b.first; };
  all.erase(std::unique(all.begin(), all.end(), same_row), all.end());
  field->values = std::move(all);
}

ShardIndex Layers::amend(ShardIndex index, const std::string& digest_text, const std::string& path) const {
  const ShardAmendments* const known = of(digest_text);
  if (known == nullptr) return index;
  if (known->field_parts.empty()) return bale::amend(index, *known, path);
  ShardAmendments amendments = *known;
  for (const auto& [layer, shard] : known->field_parts) add_values(field_layer(layer), layer, shard, amendments.fields);
  return bale::amend(index, amendments, path);
}

const FieldLayer& Layers::layer_of(const Extent& extent) const {
  const std::uint64_t number = (extent.offset - Extent::k_label_text) >> k_place_bits;
  if (number == 0 || number > paths().size()) {
    throw Error(ErrorCode::damaged, "an index names a layer that is not there", {.hint = k_copy_hint});
  }
  return field_layer(number - 1);
}

std::uint64_t Layers::offset_of(const Extent& extent) {
  return extent.offset & ((std::uint64_t{1} << k_place_bits) - 1);
}

const std::string& Layers::path_of(const Extent& extent) const { return layer_of(extent).path(); }

void Layers::read(const Extent& extent, MutableBytes out) const {
  const FieldLayer& layer = layer_of(extent);
  if (extent.length < layer.prefix().size()) fail_damaged_layer(layer.path(), "an index has another length");
  layer.read(offset_of(extent), out);
}

void Layers::forget(const Extent& extent) const {
  const FieldLayer& layer = layer_of(extent);
  layer.forget(offset_of(extent), extent.length - std::min<std::uint64_t>(extent.length, layer.prefix().size()));
}

const FieldLayer& Layers::field_layer(std::size_t number) const { return files_->field(number); }

namespace {

/// What one field of the index gets, while the rows are gone through.
class AmendedColumn {
 public:
  AmendedColumn(const AmendedField& field, const ShardIndex& index, IndexBuilder& builder)
      : values_(field.values), id_(builder.field_id(field.name).value_or(index.fields().size())) {
    if (id_ == index.fields().size()) id_ = builder.add_field(field.name);
    for (const FieldInfo& known : index.fields()) is_replaced_.push_back(known.name == field.name);
    is_image_ = is_image_field(field.name);
  }

  void move_to(std::uint64_t row) {
    while (at_ < values_.size() && values_[at_].first < row) ++at_;
    has_value_ = at_ < values_.size() && values_[at_].first == row;
  }
  bool replaces(std::uint32_t field) const { return has_value_ && is_replaced_[field]; }
  bool replaces_image() const { return has_value_ && is_image_; }
  void set(std::uint64_t sample, IndexBuilder& builder) const {
    if (!has_value_) return;
    const Extent& extent = values_[at_].second;
    builder.set_extent(sample, id_, extent.offset, extent.length);
    builder.set_crc32c(sample, id_, extent.crc32c);
  }

 private:
  const std::vector<std::pair<std::uint32_t, Extent>>& values_;
  std::uint32_t id_;
  std::vector<bool> is_replaced_;  // by field of the index
  bool is_image_ = false;
  std::size_t at_ = 0;
  bool has_value_ = false;
};

/// The last row that is named, or 0.
std::uint64_t last_row(const ShardAmendments& amendments) {
  std::uint64_t last = amendments.removed.empty() ? 0 : amendments.removed.back();
  if (!amendments.labels.empty()) last = std::max<std::uint64_t>(last, amendments.labels.back().first);
  for (const AmendedField& field : amendments.fields) last = std::max<std::uint64_t>(last, field.values.back().first);
  return last;
}

}  // namespace

ShardIndex amend(const ShardIndex& index, const ShardAmendments& amendments, const std::string& path) {
  const std::uint64_t last = last_row(amendments);
  if (last >= index.size()) {
    throw Error(ErrorCode::damaged, fmt::format("a layer names row {} of a shard of {} samples", last, index.size()),
                {.path = path, .hint = k_copy_hint});
  }
  IndexBuilder builder;
  for (const FieldInfo& field : index.fields()) builder.add_field(field.name, field.codec, field.located);
  std::vector<AmendedColumn> columns;
  for (const AmendedField& field : amendments.fields) columns.emplace_back(field, index, builder);
  auto removed = amendments.removed.begin();
  auto label = amendments.labels.begin();
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const bool is_relabeled = label != amendments.labels.end() && label->first == i;
    const std::int64_t number = is_relabeled ? (label++)->second : index.label(i);
    if (removed != amendments.removed.end() && *removed == i) {
      ++removed;
      continue;
    }
    for (AmendedColumn& column : columns) column.move_to(i);
    const bool has_other_image = std::any_of(columns.begin(), columns.end(),
                                             [](const AmendedColumn& column) { return column.replaces_image(); });
    const std::uint64_t sample = has_other_image
                                     ? builder.add_sample(index.key(i), number)  // its size is not known
                                     : builder.add_sample(index.key(i), number, index.width(i), index.height(i));
    if (!has_other_image) builder.set_condition(sample, index.condition(i));
    for (const auto& [field, extent] : index.row(i)) {
      const auto replaces = [&, id = field](const AmendedColumn& column) { return column.replaces(id); };
      if (std::any_of(columns.begin(), columns.end(), replaces)) continue;
      if (is_relabeled && index.fields()[field].name == k_label_field) {
        const std::string text = std::to_string(number);
        builder.set_extent(sample, field, Extent::k_label_text, static_cast<std::uint32_t>(text.size()));
        builder.set_crc32c(sample, field, crc32c(as_bytes(text)));
      } else {
        builder.set_extent(sample, field, extent.offset, extent.length);
        builder.set_crc32c(sample, field, extent.crc32c);
      }
    }
    for (const AmendedColumn& column : columns) column.set(sample, builder);
  }
  ShardIndex amended = ShardIndex::from_bytes(
      builder.build(index.shard_bytes(), index.digest(), index.has_checksums(), path, index.ends_digest()), path);
  amended.set_notices(index.notices());
  return amended;
}

}  // namespace bale
