#include "bale/formats/npy/npy.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/npy/image_array.hpp"

namespace bale::npy {
namespace {

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

}  // namespace

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

std::vector<std::int64_t> read_labels(const std::string& shard_path, std::uint64_t count) {
  const std::string path = labels_path(shard_path);
  if (!path_exists(path)) return {};
  const File file = File::open_read(path);
  const ArrayHeader header = read_array_header(file);
  for (const IntegerType& type : k_types) {
    if (type.name != header.type) continue;
    if (header.shape.size() != 1) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("labels of shape ({}), not one number per image", fmt::join(header.shape, ", ")),
                  {.path = path, .hint = "save the class numbers: labels.argmax(1) of one-hot rows"});
    }
    if (header.shape[0] != count) {
      throw Error(ErrorCode::damaged,
                  fmt::format("labels of shape ({}) for {} images", fmt::join(header.shape, ", "), count),
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

}  // namespace bale::npy
