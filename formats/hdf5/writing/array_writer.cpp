// Layout "array" without compression: pixels are written without the library, into one contiguous dataset.
//
// The dataset is created from the plan when the first image says its size, and pixels are written to their final
// offset. Everything else follows at the end. If there are other numbers of samples than planned, the file is created
// again: its bytes depend on the samples only.
#include <algorithm>
#include <map>

#include "bale/formats/base/files/writeback.hpp"
#include "bale/formats/container/writing/uniform_images.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"
#include "bale/formats/hdf5/writing/writer.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::h5 {
namespace {

constexpr std::uint64_t k_rows_per_write = 1024;
constexpr std::uint64_t k_bytes_per_write = 4 << 20;

/// A field other than the image.
struct ArrayColumn {
  explicit ArrayColumn(std::string spool_path) : spool(std::move(spool_path)) {}
  Spool spool;
  std::vector<std::uint64_t> ends{};    // of each sample's bytes in the spool
  std::vector<std::uint8_t> present{};  // of each sample
  std::uint64_t num_present = 0;
};

class ArrayWriter final : public ShardWriter {
 public:
  explicit ArrayWriter(const WriterOptions& options) : options_(options), images_(options) {
    check_format_options(options, {"size", "level"});
    File::create(options.path).close();
  }

  void add(const SampleView& sample) override {
    check_fields(sample, k_field_rule, options_.path);
    const Image image = images_.decode(sample);
    if (labels_.empty()) begin(image);
    const Bytes pixels = std::as_bytes(std::span(image.rgb));
    file_.write_at(base_ + labels_.size() * pixels.size(), pixels);
    images_.accept(image);
    const FieldView* const used = sample.find_image();
    for (const FieldView& field : sample.fields) {
      if (&field != used) put(column_of(field.name), field.bytes);
    }
    labels_.push_back(sample.label);
    key_ends_.push_back((keys_ += sample.key).size());
    for (auto& [name, column] : columns_) pad(column, labels_.size());
    writeback_.advance(file_.fd(), base_ + labels_.size() * pixels.size());
  }

  void finish(IndexBuilder& index) override {
    if (labels_.size() != options_.plan.num_samples || labels_.empty()) remake();
    const H5Lock lock;
    write_tables();
    file_.close();
    const InputFile file(options_.path);
    for (const auto& [name, column] : columns_) set_vlen_extents(file, "fields/" + name, column.present, name, index);
    if (labels_.empty()) return;
    const auto array = find_array(file);
    if (!array) file.damaged("the images just written are not there");
    set_array_extents(file, *array, index);
  }

 private:
  /// The first image says the size of all.
  void begin(const Image& image) {
    image_bytes_ = image.rgb.size();
    make_file(options_.path, std::max<std::uint64_t>(options_.plan.num_samples, 1), image.height, image.width);
    file_ = File::open_update(options_.path);
    reserve_space(file_);
  }

  /// Creates a file with `rows` images and records where they are.
  void make_file(const std::string& path, std::uint64_t rows, std::uint32_t height, std::uint32_t width) {
    const H5Lock lock;
    OutputFile out = OutputFile::create(path);
    if (rows != 0) {
      const H5Handle dataset = out.make_reserved("images", {rows, height, width, 3});
      base_ = reserved_offset(dataset, path);
      writeback_ = Writeback(base_);
    }
    out.make_group("fields");
    out.close();
  }

  /// Creates the file again with the actual number of images, as if it had been planned.
  void remake() {
    const std::uint64_t old_base = base_;
    file_ = write_again(options_.path, [&](const std::string& again) {
      make_file(again, labels_.size(), images_.height(), images_.width());
      File out = File::open_update(again);
      if (!labels_.empty()) {
        reserve_space(out);
        copy_range(file_, old_base, out, base_, labels_.size() * image_bytes_);
      }
      return out;
    });
  }

  ArrayColumn& column_of(std::string_view name) {
    const auto found = columns_.find(name);
    if (found != columns_.end()) return found->second;
    ArrayColumn& column = columns_.try_emplace(std::string(name), options_.path + ".spool").first->second;
    pad(column, labels_.size());
    return column;
  }

  static void put(ArrayColumn& column, Bytes bytes) {
    column.spool.append(bytes);
    column.ends.push_back(column.spool.size());
    column.present.push_back(1);
    ++column.num_present;
  }

  /// Makes the column one of `rows` samples.
  static void pad(ArrayColumn& column, std::size_t rows) {
    column.ends.resize(rows, column.spool.size());
    column.present.resize(rows);
  }

  /// Adds everything except the pixels. Needs an H5Lock.
  void write_tables() {
    OutputFile out = OutputFile::open(options_.path);
    for (const auto& [name, column] : columns_) write_column(out, name, column);
    const auto is_absent = [&](const auto& entry) { return entry.second.num_present != labels_.size(); };
    if (std::any_of(columns_.begin(), columns_.end(), is_absent)) out.make_group("present");
    for (const auto& entry : columns_) {
      const std::vector<std::uint8_t>& present = entry.second.present;
      if (!is_absent(entry)) continue;
      out.write_table("present/" + entry.first, H5T_STD_U8LE, H5T_NATIVE_UINT8, present.size(), present.data());
    }
    write_keys(out, keys_, key_ends_);
    write_common(out, options_, labels_);
    out.close();
  }

  void write_column(OutputFile& out, const std::string& name, const ArrayColumn& column) const {
    const H5Handle type = out.take_for_write(H5Tvlen_create(H5T_STD_U8LE), H5Tclose, "make a type");
    H5Handle dataset = out.make_growing("fields/" + name, type.id(), {k_rows_per_chunk}, -1);
    const hsize_t rows = labels_.size();
    std::vector<std::byte> bytes;
    std::vector<hvl_t> values;
    try {
      out.check(H5Dset_extent(dataset.id(), &rows), "grow a dataset");
      for (hsize_t first = 0, count = 0; first < rows; first += count) {
        count = next_rows(column, first);
        const std::uint64_t begin = first == 0 ? 0 : column.ends[first - 1];
        bytes.resize(column.ends[first + count - 1] - begin);
        column.spool.read(begin, bytes);
        values.clear();
        for (hsize_t row = first, at = begin; row < first + count; at = column.ends[row++]) {
          values.push_back({column.ends[row] - at, bytes.data() + (at - begin)});
        }
        const H5Handle place = out.take_for_write(H5Dget_space(dataset.id()), H5Sclose, "read a dataspace");
        out.check(H5Sselect_hyperslab(place.id(), H5S_SELECT_SET, &first, nullptr, &count, nullptr), "select rows");
        const H5Handle cells = out.take_for_write(H5Screate_simple(1, &count, nullptr), H5Sclose, "make a dataspace");
        out.check(H5Dwrite(dataset.id(), type.id(), cells.id(), place.id(), H5P_DEFAULT, values.data()), "write");
      }
      out.flush();
    } catch (...) {
      dataset.forget();
      throw;
    }
  }

  /// The number of rows from `first` on to write at a time.
  hsize_t next_rows(const ArrayColumn& column, hsize_t first) const {
    const std::uint64_t begin = first == 0 ? 0 : column.ends[first - 1];
    const hsize_t most = std::min<hsize_t>(labels_.size() - first, k_rows_per_write);
    hsize_t count = 1;
    while (count < most && column.ends[first + count] - begin <= k_bytes_per_write) ++count;
    return count;
  }

  WriterOptions options_;
  UniformImages images_;
  File file_;
  std::uint64_t base_ = 0;  // offset of the pixels in the file
  std::uint64_t image_bytes_ = 0;
  Writeback writeback_;
  std::map<std::string, ArrayColumn, std::less<>> columns_;  // by stored name
  std::vector<std::int64_t> labels_;
  std::string keys_;
  std::vector<std::size_t> key_ends_;
};

}  // namespace

std::unique_ptr<ShardWriter> make_array_writer(const WriterOptions& options) {
  return std::make_unique<ArrayWriter>(options);
}

}  // namespace bale::h5
