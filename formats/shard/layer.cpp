#include "bale/formats/shard/layer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/codec/checked_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale {
namespace {

constexpr char k_layer_magic[8] = {'B', 'A', 'L', 'E', 'L', 'A', 'Y', '\0'};
constexpr std::uint32_t k_layer_version = 1;
constexpr std::uint64_t k_max_layer_bytes = std::uint64_t{4} << 30;
constexpr std::string_view k_layer_suffix = ".blay";
constexpr const char* k_copy_hint = "copy the whole dataset again";

struct LayerHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t kind;
  std::uint64_t num_shards;
  std::uint64_t num_rows;
  std::uint64_t file_bytes;
  std::uint32_t body_crc32c;
  std::uint32_t header_crc32c;
};
static_assert(sizeof(LayerHeader) == 48);

struct LayerShardRow {
  std::uint8_t digest[16];
  std::uint64_t end;  // of its rows, among those of all shards
};
static_assert(sizeof(LayerShardRow) == 24);

using LayerRow = std::uint32_t;
using LayerLabel = std::int64_t;

[[noreturn]] void fail_damaged_layer(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("damaged layer: {}", why), {.path = path, .hint = k_copy_hint});
}

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

std::string digest_of_content(Bytes content) {
  DigestStream stream;
  stream.update(content);
  return digest_text(stream.digest());
}

/// Follows "xxh3:" in the text of a digest.
std::string_view digits_of(std::string_view digest_text) { return digest_text.substr(digest_text.find(':') + 1); }

}  // namespace

std::string_view name_of(LayerKind kind) { return kind == LayerKind::removed ? "removed" : "label"; }

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
  const auto header = load_checked_header<LayerHeader>(bytes, k_layer_magic, k_layer_version, "layer", path, fail);
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

Layers Layers::load(const std::string& directory, const Manifest& manifest) {
  Layers layers;
  for (const ManifestLayer& layer : manifest.layers)
    layers.add_file(join_name(directory, layer_name(layer.digest)), &layer);
  layers.sort();
  return layers;
}

Layers Layers::load(const std::vector<std::string>& paths) {
  Layers layers;
  for (const std::string& path : paths) layers.add_file(path, nullptr);
  layers.sort();
  return layers;
}

const ShardAmendments* Layers::of(const std::string& digest_text) const {
  const auto found = shards_.find(digest_text);
  return found == shards_.end() ? nullptr : &found->second;
}

void Layers::add_file(const std::string& path, const ManifestLayer* expected) {
  std::string digest;
  add(read_twice_if_damaged(path, [&] {
    const std::vector<std::byte> content = read_file(path, k_max_layer_bytes);
    digest = digest_of_content(content);
    if (base_name(layer_name(digest)) != base_name(path)) fail_damaged_layer(path, "its name is not its digest");
    Layer layer = parse_layer(content, path);
    if (expected != nullptr && (expected->kind != name_of(layer.kind) || expected->num_rows != num_rows_of(layer))) {
      fail_damaged_layer(path, "is not what the manifest says");
    }
    return layer;
  }));
  paths_.push_back(path);
  digests_.push_back(std::move(digest));
}

void Layers::add(const Layer& layer) {
  for (const Layer::OfShard& of : layer.shards) {
    ShardAmendments& amendments = shards_[digest_text(of.shard)];
    if (layer.kind == LayerKind::removed) {
      amendments.removed.insert(amendments.removed.end(), of.rows.begin(), of.rows.end());
    }
    for (std::size_t i = 0; i < of.labels.size(); ++i) amendments.labels.emplace_back(of.rows[i], of.labels[i]);
  }
}

/// Each row once; of several labels the last one counts.
void Layers::sort() {
  for (auto& [digest, amendments] : shards_) {
    std::vector<std::uint32_t>& removed = amendments.removed;
    std::sort(removed.begin(), removed.end());
    removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
    auto& labels = amendments.labels;
    std::reverse(labels.begin(), labels.end());
    std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    labels.erase(
        std::unique(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
        labels.end());
  }
}

ShardIndex amend(const ShardIndex& index, const ShardAmendments& amendments, const std::string& path) {
  const std::uint64_t last = std::max(amendments.removed.empty() ? 0 : amendments.removed.back(),
                                      amendments.labels.empty() ? 0 : amendments.labels.back().first);
  if (last >= index.size()) {
    throw Error(ErrorCode::damaged, fmt::format("a layer names row {} of a shard of {} samples", last, index.size()),
                {.path = path, .hint = k_copy_hint});
  }
  IndexBuilder builder;
  for (const FieldInfo& field : index.fields()) builder.add_field(field.name, field.codec, field.located);
  auto removed = amendments.removed.begin();
  auto label = amendments.labels.begin();
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const bool is_relabeled = label != amendments.labels.end() && label->first == i;
    const std::int64_t number = is_relabeled ? (label++)->second : index.label(i);
    if (removed != amendments.removed.end() && *removed == i) {
      ++removed;
      continue;
    }
    const std::uint64_t sample = builder.add_sample(index.key(i), number, index.width(i), index.height(i));
    builder.set_condition(sample, index.condition(i));
    for (const auto& [field, extent] : index.row(i)) {
      if (is_relabeled && index.fields()[field].name == k_label_field) {
        const std::string text = std::to_string(number);
        builder.set_extent(sample, field, Extent::k_label_text, static_cast<std::uint32_t>(text.size()));
        builder.set_crc32c(sample, field, crc32c(as_bytes(text)));
      } else {
        builder.set_extent(sample, field, extent.offset, extent.length);
        builder.set_crc32c(sample, field, extent.crc32c);
      }
    }
  }
  ShardIndex amended = ShardIndex::from_bytes(
      builder.build(index.shard_bytes(), index.digest(), index.has_checksums(), path, index.ends_digest()), path);
  amended.set_notices(index.notices());
  return amended;
}

}  // namespace bale
