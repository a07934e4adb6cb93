// Layers: what a version of a dataset changes of shards without touching them: samples that are removed, labels that
// were corrected, and values of fields. A layer is a file DIRECTORY/layers/DIGEST.blay that names shards by their
// digests and samples by their rows, so that reading needs no search by key. The manifest lists the layers of its
// version (Manifest::layers). Format: formats/shard/LAYER.md.
//
// They are applied in one place, when the index of a shard is opened (ShardOpenOptions::layers): the index that readers
// get has neither the removed samples nor the old labels. What needs the shard as it is stored opens it without.
// The touched shards of a version:
//   const Layers layers(directory, manifest);
//   for (const ManifestShard& shard : manifest.shards) if (layers.of(shard.digest)) ...
//
// Threads: plain values; const methods may be called by many threads at once. Errors: those of reading files; `damaged`
// for a layer that is not what its name and the manifest say, `unsupported` for a kind of a newer bale.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

/// Directory of the layers, next to the manifest.
inline constexpr std::string_view k_layers_name = "layers";
inline constexpr std::string_view k_layer_suffix = ".blay";

enum class LayerKind : std::uint8_t { removed = 1, label = 2, field = 3 };
/// As manifests have it: "removed", "label"; "field", which the name of the field follows.
std::string_view name_of(LayerKind kind);
/// ManifestLayer::kind of the values of a field.
std::string field_layer_kind(std::string_view field);
/// The field of such a layer; nullopt for any other.
std::optional<std::string> field_of_layer(const ManifestLayer& layer);

/// Whether a layer has the bytes of the extent, which is of an index that was amended.
bool is_in_layer(const Extent& extent);
/// Whether the shard has them; else a layer, or they are the label as text.
bool is_in_container(const Extent& extent);

class FieldLayer;

/// The content of one layer of removed samples or of labels. Those of fields are FieldLayers.
struct Layer {
  struct OfShard {
    Digest shard{};                      // of the shard file
    std::vector<std::uint32_t> rows{};   // of samples in the shard as it is stored, ascending; at least one
    std::vector<std::int64_t> labels{};  // one per row; empty if the kind is not `label`
  };
  LayerKind kind = LayerKind::removed;
  std::vector<OfShard> shards{};  // ascending by digest
};

/// The content of the file of a layer.
std::vector<std::byte> layer_bytes(const Layer& layer);
/// Throws `damaged` and `unsupported`. `path` is used in messages only.
Layer parse_layer(Bytes bytes, const std::string& path);

/// What a manifest says of a layer with this content.
ManifestLayer describe_layer(const Layer& layer, Bytes content);
/// Name of the file of a layer, below its dataset's directory: "layers/DIGEST.blay".
std::string layer_name(std::string_view digest_text);

/// Values of a field that layers have.
struct AmendedField {
  std::string name;
  std::vector<std::pair<std::uint32_t, Extent>> values{};  // of rows, ascending; at least one
};

/// What all layers of a version say of one shard.
struct ShardAmendments {
  std::vector<std::uint32_t> removed{};                          // rows, ascending
  std::vector<std::pair<std::uint32_t, std::int64_t>> labels{};  // of rows, ascending
  /// Layers of fields with values for it, and the shard's number in them. Their rows are read by Layers::amend().
  std::vector<std::pair<std::size_t, std::size_t>> field_parts{};
  std::vector<AmendedField> fields{};  // for bale::amend()
};

/// The layers of one version. They are read when of() or amend() first needs them. In memory are then 4 bytes per
/// removed sample, 16 per label, and of fields 64 per shard: rows of fields are read with the index of their shard,
/// values when they are asked for. Copies share what was read.
class Layers {
 public:
  /// None.
  Layers() = default;
  Layers(const std::string& directory, const Manifest& manifest);
  /// The same from the paths of the files, in the order of the manifest.
  explicit Layers(std::vector<std::string> paths);

  bool empty() const { return files_ == nullptr; }
  const std::vector<std::string>& paths() const;
  /// What the manifest says of them; empty if it is not known.
  const std::vector<ManifestLayer>& listed() const;
  /// Reads and checks them, unless that was done.
  void load() const;
  /// Of the shard with this digest ("xxh3:..."); nullptr if no layer touches it.
  const ShardAmendments* of(const std::string& digest_text) const;
  /// The index of that shard as readers of the version get it. Throws what bale::amend() throws.
  ShardIndex amend(ShardIndex index, const std::string& digest_text, const std::string& path) const;

  /// Reads the bytes of an extent for which is_in_layer() holds, not compared with its checksum. Precondition: `out`
  /// has its length.
  void read(const Extent& extent, MutableBytes out) const;
  /// Drops what is cached of them, if the layer is remote.
  void forget(const Extent& extent) const;
  /// Of the layer that has them, and where in it.
  const std::string& path_of(const Extent& extent) const;
  static std::uint64_t offset_of(const Extent& extent);

  /// The layer with this number, which is one of a field. Lives as long as this object and its copies.
  const FieldLayer& field_layer(std::size_t number) const;

 private:
  struct Files;
  const FieldLayer& layer_of(const Extent& extent) const;

  std::shared_ptr<Files> files_;  // null if there are none
};

/// The index without the removed samples, with the corrected labels and the values of fields. Of a sample with a field
/// `cls`, its bytes become the label as text (Extent::k_label_text). An image from a layer has no known size. Throws
/// `damaged` if a row is not in the index.
ShardIndex amend(const ShardIndex& index, const ShardAmendments& amendments, const std::string& path);

}  // namespace bale
