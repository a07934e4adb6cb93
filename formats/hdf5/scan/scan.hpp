// Finds the samples of a container: one of ours by its `layout` attribute, any other by common names of datasets.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/hdf5/file/chunks.hpp"
#include "bale/formats/hdf5/file/input.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::h5 {

/// Takes the library's lock itself.
void scan_container(const std::string& path, IndexBuilder& index);

/// Sets the extents of a vlen column: one range per sample, absent if `present` is not empty and has 0 for the sample.
void set_vlen_extents(const InputFile& file, const std::string& dataset, const std::vector<std::uint8_t>& present,
                      std::string_view stored_name, IndexBuilder& index);

/// A dataset of decoded images (or other arrays): sample i is its i-th row.
struct ArrayShape {
  InputDataset dataset;
  std::string header;  // NumPy's header, which every row is delivered with
  std::uint64_t row_bytes = 0;
  std::uint32_t width = 0;  // 0 if the axes are not known to be those of an image
  std::uint32_t height = 0;
  std::optional<std::uint64_t> pixels_at{};  // offset in the file of uint8 images of (H, W, 3) that lie end to end

  std::uint64_t delivered_bytes() const { return header.size() + row_bytes; }
};

/// The dataset's rows as arrays; nullopt if NumPy does not have its element type. Needs an H5Lock.
std::optional<ArrayShape> array_of(const InputFile& file, InputDataset dataset);

/// The container's decoded images; nullopt if it has none. Needs an H5Lock.
std::optional<ArrayShape> find_array(const InputFile& file);

/// Fills `index` from a file without our attributes. Needs an H5Lock.
void scan_foreign(const InputFile& file, IndexBuilder& index);

/// In the offset of an extent of decoded images: the rest is where the pixels of a uint8 image of (H, W, 3) begin in
/// the file. They are read without the library. Otherwise the offset is a row.
inline constexpr std::uint64_t k_pixels_in_file = std::uint64_t{1} << 63;

/// Declares the column k_array_field and sets every sample's extent: offset as above, length = delivered bytes.
void set_array_extents(const InputFile& file, const ArrayShape& array, IndexBuilder& index);

/// Payload of containers with decoded images and other arrays: each read returns a NumPy header and a row. For files
/// with fields that are not located: decoded images (`npy`) and rows of other datasets. Takes the library's lock
/// itself, when it first reads such a field.
std::unique_ptr<Payload> open_array_payload(const std::string& path, const ShardIndex& index);

// Datasets of a foreign container that have one row per image: each becomes a field, which depends only on the
// dataset's name, type and size, so that a payload finds the same dataset as the scan.

/// Limit of the links that are examined in a file. No valid file has more.
inline constexpr std::size_t k_max_links = 1000;

/// The field for a dataset's rows: "boxes.npy" for numbers, "captions.txt" for strings, "masks" for variable-length
/// bytes (the scan adds a suffix by their content). Empty if the rows cannot be delivered.
std::string field_of_dataset(const InputDataset& dataset);

/// The dataset whose rows are a field that is not located: numbers, or strings of one size. Needs an H5Lock.
std::optional<InputDataset> find_row_dataset(const InputFile& file, std::string_view field);

// Class numbers of the samples of another tool's container, in any of the usual representations.

struct ForeignLabels {
  std::vector<std::int64_t> numbers;  // one per sample; k_no_label for rows past the dataset's end (Fuel's test set)
  std::string dataset{};              // the dataset that they are from; empty: none
};

/// Reads whole numbers of any type, digits, or one-hot rows. If a dataset with a label's name holds anything else, it
/// is ignored, and a warning names its first row that is not a class. Needs an H5Lock.
ForeignLabels find_labels(const InputFile& file, std::uint64_t num_samples, NoticeLog& notices);

// Rows of a dataset (elements of its first dimension) as raw bytes, for every kind of storage.

/// Thread-safe. Rows that were never written have the dataset's fill value.
class RowReader {
 public:
  /// Needs an H5Lock, as does the destructor. `file` must outlive the reader.
  RowReader(const InputFile& file, InputDataset dataset);

  std::uint64_t num_rows() const { return num_rows_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  const InputDataset& dataset() const { return dataset_; }
  /// Whether read() calls the library. It then needs an H5Lock.
  bool needs_library() const { return !contiguous_ && !chunks_; }

  /// Fills `out` with `count` rows. Preconditions: the rows exist, and `out` has their size.
  void read(std::uint64_t first, std::uint64_t count, MutableBytes out) const;

 private:
  struct PlainChunk {
    std::uint64_t number;
    std::vector<std::byte> bytes;
  };
  std::shared_ptr<const PlainChunk> plain_chunk(std::uint64_t number) const;
  void read_through_library(std::uint64_t first, std::uint64_t count, MutableBytes out) const;

  const InputFile& file_;
  InputDataset dataset_;
  std::uint64_t num_rows_ = 0;
  std::uint64_t row_bytes_ = 0;
  std::optional<std::uint64_t> contiguous_;  // offset of the first row
  std::optional<ChunkMap> chunks_;
  mutable std::mutex last_mutex_;
  mutable std::shared_ptr<const PlainChunk> last_;
};

}  // namespace bale::h5
