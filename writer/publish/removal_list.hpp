// RemovalList: samples that were removed, by hashes of their keys and images (formats/shard/LAYER.md).
//
// For one thread; const methods may be called by many threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

/// Of an image as it is delivered.
struct ImageMark {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  std::string digest{};  // "xxh3:..."

  static ImageMark of(Bytes image);
};

class RemovalList {
 public:
  /// The lists that a manifest names. Throws what reading files throws, and `damaged`.
  static RemovalList load(const std::string& directory, const Manifest& manifest);

  /// The lines of a text() up to the first that is none.
  static RemovalList parse(std::string_view text);

  void add(std::string_view key, const std::optional<ImageMark>& image);
  /// Takes a line of text(). Returns false if it is none.
  bool add_line(std::string_view line);
  bool empty() const { return lines_.empty(); }
  std::uint64_t size() const { return lines_.size(); }
  /// One line per sample, sorted.
  std::string text() const;
  RemovalList& add(const RemovalList& other);
  /// Without what `other` has.
  void subtract(const RemovalList& other);

  /// Whether it has the key or the image of a sample. `read` returns the image, if its checksum does not tell.
  bool has_sample(const ShardIndex& index, std::uint64_t row, const std::function<Bytes()>& read) const;
  bool has_key(std::string_view key) const;
  /// Whether an image of this size, or with this checksum, may be one of them.
  bool may_have_image(std::uint64_t bytes) const { return sizes_.contains(bytes); }
  bool may_have_checksum(std::uint32_t crc32c) const { return checksums_.contains(crc32c); }
  bool has_image(Bytes image) const;

 private:
  std::set<std::string> lines_;
  std::unordered_set<std::uint64_t> keys_;  // their hashes
  std::unordered_set<std::uint64_t> sizes_;
  std::unordered_set<std::uint32_t> checksums_;
  std::unordered_set<std::string> images_;  // their digests
};

/// Name of the file of a list with this content, below its dataset's directory: "layers/DIGEST.removed".
std::string removal_list_name(std::string_view digest_text);
/// What a manifest says of a list with this text.
ManifestRemovals describe_removals(const RemovalList& list, const std::string& text);

}  // namespace bale
