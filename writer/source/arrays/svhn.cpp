// SVHN's cropped digits (http://ufldl.stanford.edu/housenumbers): a MAT-file of level 5 with the arrays X, of 32 x 32 x
// 3 x N bytes, and y, of N numbers from 1 to 10, where 10 is the digit 0. The layout is MathWorks' "MAT-File Format".
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/source/arrays/array_source.hpp"

namespace bale {
namespace {

constexpr std::size_t k_header_bytes = 128;
constexpr std::size_t k_tag_bytes = 8;
constexpr std::uint32_t k_num_digits = 10;

enum DataType : std::uint32_t {
  k_int8 = 1,
  k_uint8 = 2,
  k_int16 = 3,
  k_uint16 = 4,
  k_int32 = 5,
  k_uint32 = 6,
  k_double = 9,
  k_matrix = 14,
  k_compressed = 15,
};

constexpr std::uint8_t k_class_of_bytes = 9;

/// Where bytes of the file come from. Of compressed elements only the place of the whole element is known.
struct Place {
  const std::string& path;
  std::uint64_t offset;
};

[[noreturn]] void fail(const Place& place, std::string_view what) {
  throw Error(ErrorCode::damaged, what, {.path = place.path, .offset = place.offset, .hint = "download it again"});
}

[[noreturn]] void refuse(const std::string& path, std::string_view what) {
  throw Error(ErrorCode::unsupported, fmt::format("{}, which bale does not read", what),
              {.path = path, .hint = "pack its images from Python: bale.pack((images, labels), DST)"});
}

struct Element {
  std::uint32_t type = 0;
  Bytes bytes;
};

/// Takes the first element from `rest`.
Element take_element(Bytes& rest, const Place& place) {
  if (rest.size() < k_tag_bytes) fail(place, "the MAT-file ends within the tag of an element");
  constexpr unsigned k_half = 16;
  constexpr std::uint32_t k_low_half = 0xffff;
  const auto word = load_at<std::uint32_t>(rest.data());
  const bool is_small = word >> k_half != 0;  // type and size in one word, and up to 4 bytes of data
  const std::uint32_t type = is_small ? word & k_low_half : word;
  const std::uint64_t size = is_small ? word >> k_half : load_at<std::uint32_t>(rest.data() + 4);
  const std::size_t begin = is_small ? 4 : k_tag_bytes;
  if (size > rest.size() - begin || (is_small && size > 4)) fail(place, "the MAT-file ends within an element");
  const Element element{type, rest.subspan(begin, size)};
  std::size_t whole = begin + size;
  if (type != k_compressed) whole = (whole + k_tag_bytes - 1) / k_tag_bytes * k_tag_bytes;
  rest = rest.subspan(std::min(whole, rest.size()));
  return element;
}

struct Matrix {
  std::uint8_t value_class = 0;
  std::vector<std::int32_t> shape{};
  std::string name{};
  std::uint32_t type = 0;
  Bytes values{};  // within the element
};

Matrix parse_matrix(Bytes rest, const Place& place) {
  Matrix matrix;
  const Element flags = take_element(rest, place);
  if (flags.type != k_uint32 || flags.bytes.size() != k_tag_bytes) fail(place, "a matrix of the MAT-file has no flags");
  matrix.value_class = load_at<std::uint8_t>(flags.bytes.data());
  const Element shape = take_element(rest, place);
  if (shape.type != k_int32 || shape.bytes.size() % sizeof(std::int32_t) != 0) {
    fail(place, "a matrix of the MAT-file has no dimensions");
  }
  for (std::size_t at = 0; at < shape.bytes.size(); at += sizeof(std::int32_t)) {
    matrix.shape.push_back(load_at<std::int32_t>(shape.bytes.data() + at));
  }
  const Element name = take_element(rest, place);
  if (name.type != k_int8) fail(place, "a matrix of the MAT-file has no name");
  matrix.name = as_text(name.bytes);
  if (matrix.name != "X" && matrix.name != "y") return matrix;  // others may have any content
  const Element values = take_element(rest, place);
  matrix.type = values.type;
  matrix.values = values.bytes;
  return matrix;
}

/// The part that `matrix` holds, without its bytes, which will be those of `element`.
ArrayPart images_of(const Matrix& matrix, Bytes element, const Place& place) {
  const auto& shape = matrix.shape;
  if (matrix.value_class != k_class_of_bytes || matrix.type != k_uint8 || shape.size() != 4 || shape[2] != 3) {
    refuse(place.path, "a MATLAB file whose array X is not height x width x 3 x N bytes");
  }
  if (shape[0] < 1 || shape[1] < 1 || shape[3] < 0 || shape[0] > UINT16_MAX || shape[1] > UINT16_MAX) {
    fail(place, "the array X has no possible shape");
  }
  ArrayPart part{.path = place.path};
  part.height = static_cast<std::uint32_t>(shape[0]);
  part.width = static_cast<std::uint32_t>(shape[1]);
  part.planes = 3;
  part.has_columns_first = true;
  part.count = static_cast<std::uint64_t>(shape[3]);
  part.stride = part.pixel_bytes();
  if (matrix.values.size() % part.stride != 0 || matrix.values.size() / part.stride != part.count) {
    fail(place, fmt::format("the array X has {} bytes, which is not what its shape says", matrix.values.size()));
  }
  part.first_offset = static_cast<std::uint64_t>(matrix.values.data() - element.data());
  return part;
}

template <typename Value>
std::vector<double> numbers(Bytes bytes) {
  std::vector<double> all;
  for (std::size_t at = 0; at + sizeof(Value) <= bytes.size(); at += sizeof(Value)) {
    all.push_back(static_cast<double>(load_at<Value>(bytes.data() + at)));
  }
  return all;
}

std::vector<double> numbers_of(const Matrix& matrix, const Place& place) {
  switch (matrix.type) {
    case k_int8:
      return numbers<std::int8_t>(matrix.values);
    case k_uint8:
      return numbers<std::uint8_t>(matrix.values);
    case k_int16:
      return numbers<std::int16_t>(matrix.values);
    case k_uint16:
      return numbers<std::uint16_t>(matrix.values);
    case k_int32:
      return numbers<std::int32_t>(matrix.values);
    case k_uint32:
      return numbers<std::uint32_t>(matrix.values);
    case k_double:
      return numbers<double>(matrix.values);
    default:
      refuse(place.path, "a MATLAB file whose array y has other numbers than SVHN's");
  }
}

std::vector<std::uint8_t> labels_of(const Matrix& matrix, const Place& place) {
  std::vector<std::uint8_t> labels;
  for (const double number : numbers_of(matrix, place)) {
    if (!(number >= 1 && number <= k_num_digits) || number != std::floor(number)) {
      fail(place, fmt::format("image {} has the label {}, and SVHN's are 1 to 10", labels.size(), number));
    }
    labels.push_back(static_cast<std::uint8_t>(static_cast<std::uint32_t>(number) % k_num_digits));
  }
  return labels;
}

void check_header(Bytes file, const std::string& path) {
  constexpr std::string_view k_later_version = "MATLAB 7.3 MAT-file";
  constexpr std::size_t k_version_at = 124;
  constexpr std::uint16_t k_version = 0x0100;
  constexpr std::uint16_t k_little_endian = 'M' << 8 | 'I';
  if (as_text(file).starts_with(k_later_version)) refuse(path, "a MATLAB file of version 7.3");
  if (file.size() < k_header_bytes || load_at<std::uint16_t>(file.data() + k_version_at) != k_version ||
      load_at<std::uint16_t>(file.data() + k_version_at + 2) != k_little_endian) {
    refuse(path, "not a MATLAB file of level 5 in little-endian order");
  }
}

/// "train_32x32.mat" -> "train".
std::string prefix_of(const std::string& path) {
  const std::string name = base_name(path);
  return name.substr(0, name.find_first_of("_."));
}

}  // namespace

ArrayFiles read_svhn(const std::string& path) {
  std::vector<std::byte> file = read_file(path, k_max_array_bytes - 1);
  check_header(file, path);
  std::optional<ArrayPart> images;
  std::optional<std::vector<std::uint8_t>> labels;
  Bytes rest = Bytes(file).subspan(k_header_bytes);
  while (!rest.empty()) {
    const Place place{path, file.size() - rest.size()};
    const Element element = take_element(rest, place);
    std::vector<std::byte> inflated;
    Bytes content = element.bytes;
    if (element.type == k_compressed) {
      inflated = inflate_all(content, DeflateHeader::zlib, path, place.offset + k_tag_bytes);
      content = inflated;
      Bytes within = content;
      const Element matrix = take_element(within, place);
      if (matrix.type != k_matrix) continue;
      content = matrix.bytes;
    } else if (element.type != k_matrix) {
      continue;
    }
    const Matrix matrix = parse_matrix(content, place);
    if (matrix.name == "X") {
      images = images_of(matrix, inflated.empty() ? content : Bytes(inflated), place);
      images->bytes = inflated.empty() ? std::vector<std::byte>(content.begin(), content.end()) : std::move(inflated);
    } else if (matrix.name == "y") {
      labels = labels_of(matrix, place);
    }
  }
  if (!images || !labels) refuse(path, "a MATLAB file without the arrays X and y that SVHN's have");
  if (labels->size() != images->count) {
    fail({path, k_header_bytes}, fmt::format("{} labels for {} images", labels->size(), images->count));
  }
  images->labels = std::move(*labels);
  images->prefix = prefix_of(path);
  ArrayFiles files;
  files.parts.push_back(std::move(*images));
  for (std::uint32_t digit = 0; digit < k_num_digits; ++digit) files.classes.push_back(std::to_string(digit));
  return files;
}

}  // namespace bale
