// Reads files that may be hostile.
//
// Objects are opened by name, through hard links only. Datasets with external or virtual storage are refused. A count
// is refused if the file is too small to hold it. Failures are `damaged` or `unsupported`.
//
// Calls need an H5Lock, except path(), bytes(), size() and user_block(). Payload bytes are read by pread from bytes().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale::h5 {

/// No filter that we read compresses better than deflate, so a larger ratio is damage, except for so few bytes.
inline constexpr std::uint64_t k_max_ratio = k_max_inflation;
inline constexpr std::uint64_t k_small_bytes = 64 << 10;

/// The kinds of elements that we read, and `other`.
enum class ElementKind { integer, real, fixed_string, vlen_string, vlen_bytes, other };

struct InputDataset {
  H5Handle id;
  H5Handle type;  // as in the file
  std::string name;
  ElementKind kind = ElementKind::other;
  H5D_layout_t layout = H5D_LAYOUT_ERROR;
  std::vector<hsize_t> dims;
  std::uint64_t count = 0;          // product of dims; count * element_bytes fits in 64 bits
  std::uint64_t element_bytes = 0;  // in the file
  std::string missing_filter{};     // name and number of a filter that is not supported; empty: none
};

inline bool is_vlen(const InputDataset& dataset) {
  return dataset.kind == ElementKind::vlen_string || dataset.kind == ElementKind::vlen_bytes;
}

class InputFile {
 public:
  /// Opens for reading without file locks. Throws `damaged` if the library cannot.
  explicit InputFile(const std::string& path);

  const std::string& path() const { return bytes_.path(); }
  const File& bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t user_block() const { return user_block_; }

  /// The dataset of that name ("a/b/c"); nullopt if there is none or it is a group.
  std::optional<InputDataset> find(const std::string& name) const;
  /// The dataset of that name. Throws `damaged` if there is none.
  InputDataset require(const std::string& name) const;
  /// Names of the links in a group, sorted; empty if there is no such group. At most `limit`.
  std::vector<std::string> links(const std::string& group, std::size_t limit) const;
  /// A string attribute of the root group or of a dataset; nullopt if there is none.
  std::optional<std::string> text_attribute(const std::string& object, const char* name) const;
  /// Names of the attributes of the root group or of a dataset, sorted; empty for a link that is not followed. At most
  /// `limit`, and only those before damaged ones.
  std::vector<std::string> attributes(const std::string& object, std::size_t limit) const;

  /// All elements as signed 64-bit integers.
  std::vector<std::int64_t> read_integers(const InputDataset& dataset) const;
  /// All elements as bytes; the dataset's own type must be one byte wide.
  std::vector<std::uint8_t> read_bytes(const InputDataset& dataset) const;
  /// All elements of a string dataset of any kind, as raw bytes.
  std::vector<std::string> read_strings(const InputDataset& dataset) const;

  /// Paths of all links in the file except those to groups, whose own links are listed instead: datasets, types, and
  /// links that are not followed. At most `limit`.
  std::vector<std::string> all_links(std::size_t limit) const;

  /// Throws `unsupported`, with the name of the filter, if a filter of the dataset cannot be undone.
  void require_filters(const InputDataset& dataset) const;

  /// For a dataset that is read whole: throws `damaged` if it is larger than the file. Tables next to images never
  /// compress that well; only a decompression bomb does.
  void check_table(const InputDataset& dataset) const;

  [[noreturn]] void damaged(std::string_view why) const;
  [[noreturn]] void unsupported(std::string_view why, std::string hint = {}) const;

 private:
  bool has_hard_link(const std::string& name) const;
  bool is_group(const std::string& name) const;
  InputDataset describe(H5Handle id, const std::string& name) const;
  std::vector<std::string> read_fixed_strings(const InputDataset& dataset) const;

  File bytes_;
  std::uint64_t size_ = 0;
  File copy_;  // of a remote file
  std::uint64_t user_block_ = 0;
  H5Handle file_;
};

// Variable-length data: finds the position of each element in the file without the library.
//
// The library returns vlen elements only as copies, made under its lock. In the file each is a 16-byte reference in the
// dataset and an object in a global heap collection (FORMAT.md, "Vlen").

/// One range per element of a vlen dataset, checked to lie inside its heap object; {0, 0} for an empty one.
/// Throws `damaged`; `unsupported` for filters that we cannot undo.
std::vector<FileRange> locate_vlen(const InputFile& file, const InputDataset& dataset);

}  // namespace bale::h5
