// Datasets of decoded images: ours ("array") and those of other tools.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/hdf5/library/h5.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::h5 {
namespace {

// Names used by bale and by most h5py scripts, BigGAN's ILSVRC, Caffe, PatchCamelyon.
constexpr std::array<const char*, 5> k_array_names{"images", "imgs", "data", "image", "x"};
constexpr std::uint64_t k_max_row_bytes = std::uint64_t{1} << 30;
constexpr std::size_t k_max_rank = 8;

/// Sets width and height if the axes can only be those of an image: (H, W), (H, W, C) or (C, H, W).
void guess_dimensions(const std::vector<std::uint64_t>& shape, ArrayShape& array) {
  const auto is_channels = [](std::uint64_t side) { return side == 1 || side == 3 || side == 4; };
  std::uint64_t height = 0;
  std::uint64_t width = 0;
  if (shape.size() == 2) {
    height = shape[0];
    width = shape[1];
  } else if (shape.size() == 3 && is_channels(shape[2])) {
    height = shape[0];
    width = shape[1];
  } else if (shape.size() == 3 && is_channels(shape[0])) {
    height = shape[1];
    width = shape[2];
  }
  constexpr std::uint64_t k_limit = std::numeric_limits<std::uint32_t>::max();
  if (height > k_limit || width > k_limit) return;
  array.height = static_cast<std::uint32_t>(height);
  array.width = static_cast<std::uint32_t>(width);
}

/// Where the pixels of uint8 images of (H, W, 3) are in the file, if they lie there unchanged.
std::optional<std::uint64_t> find_pixels(const InputFile& file, const ArrayShape& array) {
  if (array.dataset.layout != H5D_CONTIGUOUS || array.header != image_header_text(array.height, array.width)) return {};
  const haddr_t offset = dataset_offset(array.dataset.id.id());
  if (offset == HADDR_UNDEF) return {};
  if (offset > file.size() || array.dataset.count > file.size() - offset) {
    file.damaged(fmt::format("/{} lies past the end of the file", printable(array.dataset.name)));
  }
  return offset;
}

}  // namespace

std::optional<ArrayShape> array_of(const InputFile& file, InputDataset dataset) {
  if (dataset.dims.empty() || dataset.dims.size() > k_max_rank) return std::nullopt;
  const std::string descr = numpy_type(dataset.type.id());
  if (descr.empty()) return std::nullopt;
  const std::vector<std::uint64_t> shape(dataset.dims.begin() + 1, dataset.dims.end());
  ArrayShape array;
  array.row_bytes = dataset.count == 0 ? 0 : dataset.count / dataset.dims[0] * dataset.element_bytes;
  if (array.row_bytes > k_max_row_bytes) {
    file.unsupported(fmt::format("a row of /{} has more than 1 GiB", printable(dataset.name)));
  }
  array.header = array_header_text(descr, shape);
  guess_dimensions(shape, array);
  array.dataset = std::move(dataset);
  return array;
}

std::optional<ArrayShape> find_array(const InputFile& file) {
  for (const char* name : k_array_names) {
    auto dataset = file.find(name);
    if (!dataset || dataset->dims.size() < 2) continue;
    auto array = array_of(file, std::move(*dataset));
    if (!array) continue;
    file.require_filters(array->dataset);
    array->pixels_at = find_pixels(file, *array);
    return array;
  }
  return std::nullopt;
}

void set_array_extents(const InputFile& file, const ArrayShape& array, IndexBuilder& index) {
  if (array.dataset.dims[0] != index.size()) {
    file.damaged(fmt::format("/{} does not have one row per sample", printable(array.dataset.name)));
  }
  const std::uint32_t field = declare_field(index, {.name = std::string(k_array_field)}, file.path());
  index.set_located(field, false);
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const std::uint64_t offset = array.pixels_at ? k_pixels_in_file | (*array.pixels_at + i * array.row_bytes) : i;
    index.set_extent(i, field, offset, static_cast<std::uint32_t>(array.delivered_bytes()));
    index.set_dimensions(i, array.width, array.height);
  }
}

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
    const std::string text = image_header_text(index_.height(sample), index_.width(sample));
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
