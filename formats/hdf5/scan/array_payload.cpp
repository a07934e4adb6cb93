#include "bale/formats/hdf5/scan/scan.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/hdf5/file/rows.hpp"
#include "bale/formats/hdf5/scan/foreign.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::h5 {
namespace {

/// The offsets of such a field are rows of a dataset, which is opened when its first row is read, or of pixels in the
/// file.
class ArrayPayload final : public FilePayload {
 public:
  ArrayPayload(const std::string& path, const ShardIndex& index)
      : FilePayload(path), index_(index), columns_(std::make_unique<RowColumn[]>(index.fields().size())) {}

  ~ArrayPayload() override {
    const H5Lock lock;
    columns_.reset();
    container_.reset();
  }

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    if (index_.fields()[field].located) return FilePayload::read(sample, field, extent, out);
    if ((extent.offset & k_pixels_in_file) != 0) return read_pixels(sample, extent, out);
    const RowColumn& column = this->column(field);
    const std::uint64_t row_bytes = column.rows->row_bytes();
    const Bytes header = as_bytes(column.header);
    // The index has the length of a text. The padding of its row is not returned.
    const bool is_text = column.is_text && out.size() <= row_bytes;
    if (extent.offset >= column.rows->num_rows() || (!is_text && out.size() != header.size() + row_bytes)) {
      throw Error(ErrorCode::damaged, "index and file disagree on the number or size of rows", {.path = file_.path()});
    }
    std::copy(header.begin(), header.end(), out.begin());
    if (!is_text) return read_row(column, extent.offset, out.subspan(header.size()));
    std::vector<std::byte> row(row_bytes);
    read_row(column, extent.offset, row);
    std::copy_n(row.begin(), out.size(), out.begin());
  }

  bool is_plain() const override { return false; }
  std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t field, const Extent& extent) const override {
    if (index_.fields()[field].located) return FilePayload::locate(sample, field, extent);
    if ((extent.offset & k_pixels_in_file) == 0) return std::nullopt;
    return FileRange{extent.offset & ~k_pixels_in_file, pixel_bytes(sample)};
  }

 private:
  struct RowColumn {
    std::once_flag once{};
    std::optional<RowReader> rows{};
    std::string header{};
    bool is_text = false;
  };

  std::uint64_t pixel_bytes(std::uint64_t sample) const {
    return std::uint64_t{index_.height(sample)} * index_.width(sample) * 3;
  }

  void read_pixels(std::uint64_t sample, const Extent& extent, MutableBytes out) const {
    const std::string text = image_header(index_.height(sample), index_.width(sample));
    if (out.size() < text.size() || out.size() - text.size() != pixel_bytes(sample)) {
      throw Error(ErrorCode::damaged, "image size differs between index and file", {.path = file_.path()});
    }
    const Bytes header = as_bytes(text);
    std::copy(header.begin(), header.end(), out.begin());
    file_.read_exact(extent.offset & ~k_pixels_in_file, out.subspan(header.size()));
  }

  const RowColumn& column(std::uint32_t field) const {
    RowColumn& column = columns_[field];
    std::call_once(column.once, [&] {
      const H5Lock lock;
      if (!container_) container_.emplace(file_.path());
      open_column(index_.fields()[field].name, column);
    });
    return column;
  }

  /// Needs an H5Lock.
  void open_column(const std::string& name, RowColumn& column) const {
    if (name == k_array_field) {
      auto array = find_array(*container_);
      if (!array) container_->damaged("the index promises decoded images, the file has none");
      column.header = std::move(array->header);
      column.rows.emplace(*container_, std::move(array->dataset));
      return;
    }
    auto dataset = find_row_dataset(*container_, name);
    if (!dataset) container_->damaged(fmt::format("field {} is in the index but not in the file", printable(name)));
    column.is_text = dataset->kind == ElementKind::fixed_string;
    if (!column.is_text) {
      auto array = array_of(*container_, std::move(*dataset));
      if (!array) container_->damaged(fmt::format("field {} holds no numbers", printable(name)));
      column.header = std::move(array->header);
      dataset = std::move(array->dataset);
    }
    column.rows.emplace(*container_, std::move(*dataset));
  }

  void read_row(const RowColumn& column, std::uint64_t row, MutableBytes out) const {
    if (!column.rows->needs_library()) return column.rows->read(row, 1, out);
    const H5Lock lock;
    column.rows->read(row, 1, out);
  }

  const ShardIndex& index_;
  mutable std::optional<InputFile> container_;  // opened under the lock
  std::unique_ptr<RowColumn[]> columns_;        // by field
};

}  // namespace

std::unique_ptr<Payload> open_array_payload(const std::string& path, const ShardIndex& index) {
  return std::make_unique<ArrayPayload>(path, index);
}

}  // namespace bale::h5
