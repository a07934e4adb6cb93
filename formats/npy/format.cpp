// Arrays of images: their labels, their samples, reading and writing them.
#include "bale/formats/shard/format.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/writeback.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/container/writing/uniform_images.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::npy {
namespace {

// The array of a shard: N images of one size, decoded. FORMAT.md.

/// Limit of the size of one image.
constexpr std::uint64_t k_max_image_bytes = std::uint64_t{1} << 30;

struct ImageArray {
  std::uint64_t num_images = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::uint64_t data_offset = 0;
};

std::uint64_t image_bytes(std::uint32_t height, std::uint32_t width) { return std::uint64_t{height} * width * 3; }

// NumPy also refuses longer headers by default (its max_header_size is 10,000).
constexpr std::size_t k_max_header_bytes = 16 << 10;

/// Reads the header of an array file. Throws `damaged` if it cannot be parsed.
ArrayHeader read_array_header(const File& file) {
  std::vector<std::byte> head(std::min<std::uint64_t>(file.size(), k_max_header_bytes));
  head.resize(file.read_some(0, head));
  auto header = parse_array_header(head);
  if (!header) {
    refuse_compressed(file.path(), head);
    fail_array_header(head, {.path = file.path(), .offset = 0});
  }
  return *std::move(header);
}

/// Throws `damaged` if the file does not have exactly the length that its header states.
void check_data(const File& file, const ArrayHeader& header, std::uint64_t element_bytes) {
  const auto elements = num_elements(header);
  const std::uint64_t found = file.size() - header.data_offset;
  if (!elements || *elements > std::numeric_limits<std::uint64_t>::max() / element_bytes ||
      *elements * element_bytes != found) {
    throw Error(
        ErrorCode::damaged,
        fmt::format("{} bytes of data, which is not what an array of shape ({}) has", found, joined(header.shape)),
        {.path = file.path(), .offset = header.data_offset});
  }
}

/// Reads and checks the header of a shard. Throws `unsupported` for an array of another type, order or shape, `damaged`
/// if header and file contradict each other.
ImageArray read_image_array(const File& file) {
  const ArrayHeader header = read_array_header(file);
  const auto refuse = [&](const std::string& what,
                          const char* hint = "save uint8 images of shape (N, height, width, 3)") {
    throw Error(ErrorCode::unsupported, what, {.path = file.path(), .hint = hint});
  };
  if (header.type != "|u1") refuse(fmt::format("array of type {}, not uint8", printable(header.type)));
  if (header.fortran_order) refuse("array in Fortran order", "save it with numpy.ascontiguousarray()");
  const std::vector<std::uint64_t>& shape = header.shape;
  constexpr std::uint64_t k_max_side = std::numeric_limits<std::uint32_t>::max();
  if (shape.size() != 4 || shape[3] != 3 || shape[1] > k_max_side || shape[2] > k_max_side) {
    refuse(fmt::format("array of shape ({})", joined(shape)));
  }
  if (shape[0] != 0 && (shape[1] == 0 || shape[2] == 0)) refuse("array of images without pixels");
  if (shape[1] != 0 && shape[2] > k_max_image_bytes / 3 / shape[1]) refuse("images of more than 1 GiB each");
  check_data(file, header, 1);
  return {.num_images = shape[0],
          .height = static_cast<std::uint32_t>(shape[1]),
          .width = static_cast<std::uint32_t>(shape[2]),
          .data_offset = header.data_offset};
}

// Labels of a shard: an array of integers next to it, X.labels.npy next to X.npy.

constexpr std::string_view k_suffix = ".npy";
constexpr std::string_view k_labels_suffix = ".labels.npy";

std::string labels_path(std::string_view shard_path) {
  if (shard_path.ends_with(k_suffix)) shard_path.remove_suffix(k_suffix.size());
  return fmt::format("{}{}", shard_path, k_labels_suffix);
}

/// Empty if one of them does not fit in 63 bits.
template <typename Integer>
std::vector<std::int64_t> widen(Bytes bytes) {
  std::vector<std::int64_t> labels(bytes.size() / sizeof(Integer));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = load_at<Integer>(bytes.data() + i * sizeof(Integer));
    if (!std::in_range<std::int64_t>(label)) return {};
    labels[i] = static_cast<std::int64_t>(label);
  }
  return labels;
}

struct IntegerType {
  std::string_view name;
  std::size_t bytes;
  std::vector<std::int64_t> (*widen)(Bytes);
};

constexpr IntegerType k_types[] = {
    {"<i8", 8, widen<std::int64_t>},  {"<i4", 4, widen<std::int32_t>},  {"<i2", 2, widen<std::int16_t>},
    {"|i1", 1, widen<std::int8_t>},   {"<u8", 8, widen<std::uint64_t>}, {"<u4", 4, widen<std::uint32_t>},
    {"<u2", 2, widen<std::uint16_t>}, {"|u1", 1, widen<std::uint8_t>},
};

/// The content of the labels file: int64, k_no_label (-2^63) if a sample has none.
std::string labels_text(const std::string&, const ShardIndex& index) {
  const std::uint64_t shape[] = {index.size()};
  std::string text = array_header_text("<i8", shape);
  const std::size_t begin = text.size();
  text.resize(begin + index.size() * sizeof(std::int64_t));
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const std::int64_t label = index.label(i);
    std::memcpy(text.data() + begin + i * sizeof label, &label, sizeof label);
  }
  return text;
}

/// One label per sample; empty if there is no such file. Throws `damaged` or `unsupported` if it holds anything other
/// than `count` integers.
std::vector<std::int64_t> read_labels(const std::string& shard_path, std::uint64_t count) {
  const std::string path = labels_path(shard_path);
  if (!path_exists(path)) return {};
  const File file = File::open_read(path);
  const ArrayHeader header = read_array_header(file);
  for (const IntegerType& type : k_types) {
    if (type.name != header.type) continue;
    if (header.shape.size() != 1) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("labels of shape ({}), not one number per image", joined(header.shape)),
                  {.path = path, .hint = "save the class numbers: labels.argmax(1) of one-hot rows"});
    }
    if (header.shape[0] != count) {
      throw Error(ErrorCode::damaged, fmt::format("labels of shape ({}) for {} images", joined(header.shape), count),
                  {.path = path});
    }
    check_data(file, header, type.bytes);
    std::vector<std::byte> bytes(count * type.bytes);
    file.read_exact(header.data_offset, bytes);
    std::vector<std::int64_t> labels = type.widen(bytes);
    if (labels.size() == count) return labels;
    throw Error(ErrorCode::unsupported, "labels of 2^63 and more", {.path = path});
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("labels of type {}, not little-endian integers", printable(header.type)), {.path = path});
}

/// Sets the image of every sample. Throws `damaged` if the numbers of images and samples differ.
void set_image_extents(const std::string& path, const ImageArray& array, IndexBuilder& index) {
  if (index.size() != array.num_images) {
    throw Error(ErrorCode::damaged, fmt::format("{} images for {} samples", array.num_images, index.size()),
                {.path = path});
  }
  const std::uint32_t field = declare_field(index, {.name = std::string(k_array_field)}, path);
  const std::uint64_t pixels = image_bytes(array.height, array.width);
  const auto delivered = static_cast<std::uint32_t>(image_header_text(array.height, array.width).size() + pixels);
  for (std::uint64_t i = 0; i < array.num_images; ++i) {
    index.set_extent(i, field, array.data_offset + i * pixels, delivered);
    index.set_dimensions(i, array.width, array.height);
  }
}

/// An array of images, ours or another tool's (FORMAT.md).
void scan(const std::string& path, IndexBuilder& index) {
  const ImageArray array = read_image_array(File::open_read(path));
  const std::vector<std::int64_t> labels = read_labels(path, array.num_images);
  for (std::uint64_t i = 0; i < array.num_images; ++i) {
    index.add_sample(fmt::format("{:08d}", i), labels.empty() ? k_no_label : labels[i]);
  }
  set_image_extents(path, array, index);
}

/// Takes the offsets and sizes of images from the index alone, so that images can be read even if the array's header is
/// damaged.
class ImagePayload final : public FilePayload {
 public:
  ImagePayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    const std::string text = image_header_text(index_.height(sample), index_.width(sample));
    const std::uint64_t pixels = image_bytes(index_.height(sample), index_.width(sample));
    if (out.size() < text.size() || out.size() - text.size() != pixels) {
      throw Error(ErrorCode::damaged, "image size differs between index and file", {.path = file_.path()});
    }
    const Bytes header = as_bytes(text);
    std::copy(header.begin(), header.end(), out.begin());
    file_.read_exact(extent.offset, out.subspan(header.size()));
  }

  std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t, const Extent& extent) const override {
    return FileRange{extent.offset, image_bytes(index_.height(sample), index_.width(sample))};
  }

  bool is_plain() const override { return false; }

 private:
  const ShardIndex& index_;
};

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  return std::make_unique<ImagePayload>(path, index);
}

/// The header is written last, when the number of images is known. Its length does not depend on that number.
class Writer final : public ShardWriter {
 public:
  explicit Writer(const WriterOptions& options)
      : path_(options.path), images_(options), file_(File::create(options.path)) {}

  void add(const SampleView& sample) override {
    for (const FieldView& field : sample.fields) check_field(sample, field);
    const Image image = images_.decode(sample);
    const auto* const pixels = reinterpret_cast<const std::byte*>(image.rgb.data());
    file_.write_at(end_, Bytes(pixels, image.rgb.size()));
    images_.accept(image);
    end_ += image.rgb.size();
    ++num_images_;
    writeback_.advance(file_.fd(), end_);
  }

  void finish(IndexBuilder& index) override {
    const std::uint64_t shape[] = {num_images_, images_.height(), images_.width(), 3};
    file_.write_at(0, as_bytes(array_header_text("|u1", shape)));
    file_.close();
    set_image_extents(
        path_,
        {.num_images = num_images_, .height = images_.height(), .width = images_.width(), .data_offset = k_data_offset},
        index);
  }

 private:
  static constexpr std::uint64_t k_data_offset = 128;

  void check_field(const SampleView& sample, const FieldView& field) const {
    const auto refuse = [&](std::string_view what) {
      throw Error(ErrorCode::invalid_argument, fmt::format("field \"{}\" {}", printable(field.name), what),
                  {.path = path_, .key = std::string(sample.key), .hint = "choose another format"});
    };
    if (field.name == k_label_field) {
      if (sample.label == k_no_label) refuse("is not a whole number, and labels are kept as numbers");
    } else if (&field != sample.find_image()) {
      refuse("has no place next to an image and a label");
    }
  }

  std::string path_;
  UniformImages images_;
  File file_;
  std::uint64_t num_images_ = 0;
  std::uint64_t end_ = k_data_offset;
  Writeback writeback_{k_data_offset};
};

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  check_format_options(options, {"size"});
  return std::make_unique<Writer>(options);
}

constexpr Sidecar k_sidecars[] = {{.suffix = k_labels_suffix, .text = labels_text}};

constexpr Layout k_layouts[] = {{.name = "rgb",
                                 .suffix = k_suffix,
                                 .keeps_bytes = false,
                                 .keeps_keys_in_file = false,
                                 .keeps_all_fields = false,
                                 .summary = "N x H x W x 3 pixels that numpy maps; labels next to it; option size",
                                 .sidecars = k_sidecars}};

int probe(const ProbeInput& input) {
  if (as_text(input.head).starts_with(k_array_magic)) return 100;
  // If the first bytes are damaged, the file is claimed by its name, so that the error is of this format.
  return input.path.ends_with(k_suffix) && input.file_bytes != 0 ? 20 : 0;
}

}  // namespace
}  // namespace bale::npy

namespace bale {

extern const Format k_npy_format;
const Format k_npy_format{.name = "npy",
                          .layouts = npy::k_layouts,
                          .probe = npy::probe,
                          .scan = npy::scan,
                          .open = npy::open,
                          .create = npy::create,
                          .scan_survives_damage = true};

}  // namespace bale
