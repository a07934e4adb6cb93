// Reading files that may be hostile: what is opened, and what is believed of it.
//
// Objects are reached by name through hard links only; datasets with external or virtual storage are
// refused; no count is believed beyond what the file's size can hold. Failures are `damaged` or `unsupported`.
//
// Calls need an H5Lock, except those of ByteSource. Payload bytes are read by pread, not by the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/hdf5/h5.hpp"

namespace bale::h5 {

/// What a dataset's elements are, as far as we read any.
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
  std::string missing_filter{};     // name and number of a filter that nobody here can undo; empty: none
};

inline bool is_vlen(const InputDataset& dataset) {
  return dataset.kind == ElementKind::vlen_string || dataset.kind == ElementKind::vlen_bytes;
}

class InputFile {
 public:
  /// Opens for reading without file locks. Throws `damaged` where the library cannot.
  explicit InputFile(const std::string& path);

  const std::string& path() const { return bytes_.path(); }
  const File& bytes() const { return bytes_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t user_block() const { return user_block_; }

  /// The dataset of that name ("a/b/c"), or nullopt where there is none (or a group of that name).
  std::optional<InputDataset> find(const std::string& name) const;
  /// The same; throws `damaged` where it is missing.
  InputDataset require(const std::string& name) const;
  /// Names of the links in a group, sorted; empty where there is no such group. At most `limit`.
  std::vector<std::string> links(const std::string& group, std::size_t limit) const;
  /// A string attribute of the root group or of a dataset; nullopt where there is none.
  std::optional<std::string> text_attribute(const std::string& object, const char* name) const;

  /// All elements as signed 64-bit integers.
  std::vector<std::int64_t> read_integers(const InputDataset& dataset) const;
  /// All elements as bytes; the dataset's own type must be one byte wide.
  std::vector<std::uint8_t> read_bytes(const InputDataset& dataset) const;
  /// All elements of a string dataset of any kind, as raw bytes.
  std::vector<std::string> read_strings(const InputDataset& dataset) const;

  /// Paths of all links in the file but those to groups, whose own are listed instead: datasets, types, and links that
  /// are not followed. At most `limit`.
  std::vector<std::string> all_links(std::size_t limit) const;

  /// Throws `unsupported` for a dataset with a filter that cannot be undone, naming it.
  void require_filters(const InputDataset& dataset) const;

  /// Throws `damaged` for a dataset to be read whole that is larger than the file: compression does not
  /// bring tables beside images to that, only a bomb does.
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
  std::uint64_t user_block_ = 0;
  H5Handle file_;
};

}  // namespace bale::h5
