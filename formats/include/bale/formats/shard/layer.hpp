// Layers: what a version of a dataset changes of shards without touching them: samples that are removed, and labels
// that were corrected. A layer is a file DIRECTORY/layers/DIGEST.blay that names shards by their digests and samples by
// their rows, so that reading needs no search by key. The manifest lists the layers of its version (Manifest::layers).
// Format: formats/shard/LAYER.md.
//
// They are applied in one place, when the index of a shard is opened (ShardOpenOptions::layers): the index that readers
// get has neither the removed samples nor the old labels. What needs the shard as it is stored opens it without.
// The touched shards of a version:
//   const Layers layers = Layers::load(directory, manifest);
//   for (const ManifestShard& shard : manifest.shards) if (layers.of(shard.digest)) ...
//
// Threads: plain values; const methods may be called by many threads at once. Errors: those of reading files; `damaged`
// for a layer that is not what its name and the manifest say, `unsupported` for a kind of a newer bale.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

/// Directory of the layers, next to the manifest.
inline constexpr std::string_view k_layers_name = "layers";

enum class LayerKind : std::uint8_t { removed = 1, label = 2 };
/// As manifests have it: "removed", "label".
std::string_view name_of(LayerKind kind);

/// The content of one layer.
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

/// What all layers of a version say of one shard.
struct ShardAmendments {
  std::vector<std::uint32_t> removed{};                          // rows, ascending
  std::vector<std::pair<std::uint32_t, std::int64_t>> labels{};  // of rows, ascending
};

/// The layers of one version, in memory: 4 bytes per removed sample and 16 per label.
class Layers {
 public:
  /// None.
  Layers() = default;
  static Layers load(const std::string& directory, const Manifest& manifest);
  /// The same from the paths of the files, in the order of the manifest.
  static Layers load(const std::vector<std::string>& paths);

  bool empty() const { return paths_.empty(); }
  const std::vector<std::string>& paths() const { return paths_; }
  /// Of the files: "xxh3:...".
  const std::vector<std::string>& digests() const { return digests_; }
  /// Of the shard with this digest ("xxh3:..."); nullptr if no layer touches it.
  const ShardAmendments* of(const std::string& digest_text) const;

 private:
  void add(const Layer& layer);
  void add_file(const std::string& path, const ManifestLayer* expected);
  void sort();

  std::vector<std::string> paths_;
  std::vector<std::string> digests_;
  std::unordered_map<std::string, ShardAmendments> shards_;
};

/// The index without the removed samples and with the corrected labels. Of a sample with a field `cls`, its bytes
/// become the label as text (Extent::k_label_text). Throws `damaged` if a row is not in the index.
ShardIndex amend(const ShardIndex& index, const ShardAmendments& amendments, const std::string& path);

}  // namespace bale
