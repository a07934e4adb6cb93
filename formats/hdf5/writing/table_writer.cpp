// Layouts "vlen", and "array" with compression: datasets with one row per sample, for programs that use the HDF5
// library.
//
// "vlen" stores the bytes of the first image field in `images`; "array" decodes and deflates them. Every other field
// is a vlen dataset in the group `fields`. Images are decoded and deflated outside the library's lock.
#include <zlib.h>

#include <algorithm>
#include <map>

#include "bale/formats/container/writing/uniform_images.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"
#include "bale/formats/hdf5/writing/writer.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::h5 {
namespace {

constexpr std::size_t k_conversion_bytes = 1024;

struct VlenColumn {
  std::string dataset_name;
  H5Handle dataset;
  std::uint64_t num_rows = 0;
  std::uint64_t num_present = 0;
  std::vector<std::uint8_t> present;
};

/// An image before it is written.
struct Pixels {
  Image image;
  std::vector<std::byte> deflated;
};

class TableWriter final : public ShardWriter {
 public:
  explicit TableWriter(const WriterOptions& options)
      : options_(options), decodes_(options.layout == "array"), images_of_size_(options) {
    check_format_options(options,
                         decodes_ ? std::vector<std::string_view>{"size", "level"} : std::vector<std::string_view>{});
    if (decodes_) level_ = static_cast<int>(number_option(options, "level", 0, 0, 9));
    const auto image = std::find_if(options.plan.fields.begin(), options.plan.fields.end(),
                                    [](const ShardPlan::Field& field) { return is_image_field(field.name); });
    if (image != options.plan.fields.end()) image_field_ = image->name;
  }

  /// Separate from the constructor: if it throws, the destructor closes what it has opened, under the lock.
  void open() {
    const H5Lock lock;
    file_.emplace(OutputFile::create(options_.path));
    vlen_type_ = file_->take_for_write(H5Tvlen_create(H5T_STD_U8LE), H5Tclose, "make a type");
    // The library clears two conversion buffers per write, 1 MiB each by default: ten times the size of an image.
    transfer_ = file_->take_for_write(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "make a property list");
    file_->check(H5Pset_buffer(transfer_.id(), k_conversion_bytes, nullptr, nullptr), "set a buffer's size");
    file_->make_group("fields");
  }

  ~TableWriter() override {
    const H5Lock lock;
    release();
  }

  void add(const SampleView& sample) override {
    check_fields(sample, k_field_rule, options_.path);
    const Pixels pixels = decodes_ ? prepare(sample) : Pixels{};
    const FieldView* const image = decodes_ ? sample.find_image() : nullptr;
    const H5Lock lock;
    if (image != nullptr) write_pixels(pixels);
    for (const FieldView& field : sample.fields) {
      if (&field != image) write_bytes(column_of(field.name), field.bytes);
    }
    labels_.push_back(sample.label);
    key_ends_.push_back((keys_ += sample.key).size());
  }

  void finish(IndexBuilder& index) override {
    const H5Lock lock;
    write_tables();
    file_->flush();
    release_datasets();
    file_->close();
    file_.reset();
    // Only the library knows the offsets of the data, so they are read from the file.
    const InputFile file(options_.path);
    for (const auto& [name, column] : columns_)
      set_vlen_extents(file, column.dataset_name, column.present, name, index);
    if (decodes_ && !labels_.empty()) {
      const auto array = find_array(file);
      if (!array) file.damaged("the images just written are not there");
      set_array_extents(file, *array, index);
    }
  }

 private:
  Pixels prepare(const SampleView& sample) const {
    Pixels pixels{.image = images_of_size_.decode(sample)};
    const std::vector<std::uint8_t>& rgb = pixels.image.rgb;
    uLongf bytes = compressBound(rgb.size());
    pixels.deflated.resize(bytes);
    if (compress2(reinterpret_cast<Bytef*>(pixels.deflated.data()), &bytes, rgb.data(), rgb.size(), level_) != Z_OK) {
      throw Error(ErrorCode::io, "cannot compress an image", {.path = options_.path, .key = std::string(sample.key)});
    }
    pixels.deflated.resize(bytes);
    return pixels;
  }

  void write_pixels(const Pixels& pixels) {
    const auto& [width, height, rgb] = pixels.image;
    if (!images_) images_ = file_->make_growing("images", H5T_STD_U8LE, {1, height, width, 3}, level_);
    const hsize_t dims[4] = {labels_.size() + 1, height, width, 3};
    const hsize_t at[4] = {labels_.size(), 0, 0, 0};
    file_->check(H5Dset_extent(images_.id(), dims), "grow a dataset");
    file_->check(H5Dwrite_chunk(images_.id(), H5P_DEFAULT, 0, at, pixels.deflated.size(), pixels.deflated.data()),
                 "write");
    images_of_size_.accept(pixels.image);
  }

  VlenColumn& column_of(std::string_view name) {
    const auto found = columns_.find(name);
    if (found != columns_.end()) return found->second;
    const bool primary = !decodes_ && name == image_field_;
    std::string dataset_name = primary ? "images" : "fields/" + std::string(name);
    H5Handle dataset = file_->make_growing(dataset_name, vlen_type_.id(), {k_rows_per_chunk}, -1);
    if (primary) file_->write_attribute(dataset.id(), "field", name);
    VlenColumn& column = columns_[std::string(name)];
    column.dataset_name = std::move(dataset_name);
    column.dataset = std::move(dataset);
    return column;
  }

  void write_bytes(VlenColumn& column, Bytes bytes) {
    const hsize_t row = labels_.size();
    const hsize_t one = 1;
    resize(column, row + 1);
    const H5Handle rows = file_->take_for_write(H5Dget_space(column.dataset.id()), H5Sclose, "read a dataspace");
    file_->check(H5Sselect_hyperslab(rows.id(), H5S_SELECT_SET, &row, nullptr, &one, nullptr), "select a row");
    const H5Handle cell = file_->take_for_write(H5Screate_simple(1, &one, nullptr), H5Sclose, "make a dataspace");
    const hvl_t value{bytes.size(), const_cast<std::byte*>(bytes.data())};
    file_->check(H5Dwrite(column.dataset.id(), vlen_type_.id(), cell.id(), rows.id(), transfer_.id(), &value), "write");
    column.present.back() = 1;
    ++column.num_present;
  }

  void resize(VlenColumn& column, hsize_t rows) {
    if (column.num_rows != rows) file_->check(H5Dset_extent(column.dataset.id(), &rows), "grow a dataset");
    column.num_rows = rows;
    column.present.resize(rows);
  }

  void write_tables() {
    const bool any_absent = std::any_of(columns_.begin(), columns_.end(),
                                        [&](const auto& entry) { return entry.second.num_present != labels_.size(); });
    if (any_absent) file_->make_group("present");
    for (auto& [name, column] : columns_) {
      resize(column, labels_.size());
      if (column.num_present == labels_.size()) continue;
      file_->write_table("present/" + name, H5T_STD_U8LE, H5T_NATIVE_UINT8, column.present.size(),
                         column.present.data());
    }
    write_keys(*file_, keys_, key_ends_);
    write_common(*file_, options_, labels_);
  }

  void release_datasets() {
    for (auto& [name, column] : columns_) column.dataset.reset();
    images_.reset();
    vlen_type_.reset();
    transfer_.reset();
  }

  void release() {
    if (file_ && file_->failed()) {
      for (auto& [name, column] : columns_) column.dataset.forget();
      images_.forget();
    }
    release_datasets();
    file_.reset();
  }

  WriterOptions options_;
  bool decodes_;
  UniformImages images_of_size_;
  int level_ = 0;
  std::string image_field_;
  std::optional<OutputFile> file_;
  H5Handle vlen_type_;
  H5Handle transfer_;
  H5Handle images_;
  std::map<std::string, VlenColumn, std::less<>> columns_;  // by stored name
  std::vector<std::int64_t> labels_;
  std::string keys_;
  std::vector<std::size_t> key_ends_;
};

}  // namespace

std::unique_ptr<ShardWriter> make_table_writer(const WriterOptions& options) {
  auto writer = std::make_unique<TableWriter>(options);
  writer->open();
  return writer;
}

}  // namespace bale::h5
