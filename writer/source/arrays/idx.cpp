// idx files, as http://yann.lecun.com/exdb/mnist describes them: two zero bytes, the type, the number of dimensions,
// the dimensions (32 bits, big-endian), the values.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/source/arrays/array_source.hpp"

namespace bale {
namespace {

/// "train-images-idx3-ubyte.gz" -> "train".
std::optional<std::string> prefix_of(std::string_view name) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const std::string_view suffix : {"-images-idx3-ubyte", "-images.idx3-ubyte"}) {
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  }
  return std::nullopt;
}

std::string labels_name(std::string name) {
  name.replace(name.rfind("images"), 6, "labels");
  name.replace(name.rfind("idx3"), 4, "idx1");
  return name;
}

struct IdxArray {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> shape;
  std::uint64_t values_at = 0;
};

std::uint32_t big_endian(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(at[i]);
  return value;
}

/// An array of bytes with `dimensions` dimensions.
IdxArray read_idx(const std::string& path, std::size_t dimensions) {
  IdxArray array{.bytes = read_file(path, k_max_array_bytes - 1), .shape = {}};
  const auto fail = [&](std::string_view what, std::uint64_t offset) {
    throw Error(ErrorCode::damaged, what, {.path = path, .offset = offset, .hint = "download it again"});
  };
  if (path.ends_with(".gz")) array.bytes = inflate_all(array.bytes, DeflateHeader::gzip, path);
  constexpr std::uint8_t k_unsigned_bytes = 8;
  array.values_at = 4 + 4 * dimensions;
  if (array.bytes.size() < array.values_at) fail("shorter than the header of an idx file", array.bytes.size());
  const auto byte_at = [&](std::size_t i) { return static_cast<std::uint8_t>(array.bytes[i]); };
  if (byte_at(0) != 0 || byte_at(1) != 0) fail("not an idx file", 0);
  if (byte_at(2) != k_unsigned_bytes) fail("an idx file of other numbers than unsigned bytes", 2);
  if (byte_at(3) != dimensions) fail(fmt::format("an idx file of {} dimensions, not {}", byte_at(3), dimensions), 3);
  std::uint64_t rest = array.bytes.size() - array.values_at;
  std::uint64_t stated = 1;
  bool fits = true;
  for (std::size_t i = 0; i < dimensions; ++i) {
    array.shape.push_back(big_endian(array.bytes.data() + 4 + 4 * i));
    fits = fits && (stated == 0 || array.shape.back() <= (std::uint64_t{1} << 40) / std::max<std::uint64_t>(stated, 1));
    stated *= array.shape.back();
  }
  if (!fits || stated != rest) fail(fmt::format("{} values, which is not what its header says", rest), 4);
  return array;
}

}  // namespace

bool has_idx_files(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return prefix_of(name).has_value(); });
}

ArrayFiles read_idx_files(const std::string& directory, const std::vector<std::string>& names) {
  std::map<std::string, std::string> by_prefix;  // torchvision leaves X.gz next to X
  for (const std::string& name : names) {
    const auto prefix = prefix_of(name);
    if (!prefix) continue;
    std::string& known = by_prefix[*prefix];
    if (known.empty() || known.ends_with(".gz")) known = name;
  }
  ArrayFiles files;
  for (const bool is_test : {false, true}) {  // t10k comes after train
    for (const auto& [prefix, name] : by_prefix) {
      if ((prefix == "t10k") != is_test) continue;
      IdxArray images = read_idx(join_path(directory, name), 3);
      const IdxArray labels = read_idx(join_path(directory, labels_name(name)), 1);
      if (labels.shape[0] != images.shape[0]) {
        throw Error(ErrorCode::damaged, fmt::format("{} labels for {} images", labels.shape[0], images.shape[0]),
                    {.path = join_path(directory, labels_name(name))});
      }
      if (images.shape[1] == 0 || images.shape[2] == 0) {
        throw Error(ErrorCode::damaged, "images without pixels", {.path = join_path(directory, name), .offset = 8});
      }
      ArrayPart part{.path = join_path(directory, name), .prefix = is_test ? "test" : prefix};
      part.count = images.shape[0];
      part.height = images.shape[1];
      part.width = images.shape[2];
      part.stride = part.pixel_bytes();
      part.first_offset = images.values_at;
      for (const std::byte label : Bytes(labels.bytes).subspan(labels.values_at)) {
        part.labels.push_back(static_cast<std::uint8_t>(label));
      }
      part.bytes = std::move(images.bytes);
      files.parts.push_back(std::move(part));
    }
  }
  return files;
}

}  // namespace bale
