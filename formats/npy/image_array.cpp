#include "bale/formats/npy/image_array.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"

namespace bale::npy {
namespace {

// NumPy also refuses longer headers by default (its max_header_size is 10,000).
constexpr std::size_t k_max_header_bytes = 16 << 10;

}  // namespace

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

void check_data(const File& file, const ArrayHeader& header, std::uint64_t element_bytes) {
  const auto elements = num_elements(header);
  const std::uint64_t found = file.size() - header.data_offset;
  if (!elements || *elements > std::numeric_limits<std::uint64_t>::max() / element_bytes ||
      *elements * element_bytes != found) {
    throw Error(ErrorCode::damaged,
                fmt::format("{} bytes of data, which is not what an array of shape ({}) has", found,
                            fmt::join(header.shape, ", ")),
                {.path = file.path(), .offset = header.data_offset});
  }
}

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
    refuse(fmt::format("array of shape ({})", fmt::join(shape, ", ")));
  }
  if (shape[0] != 0 && (shape[1] == 0 || shape[2] == 0)) refuse("array of images without pixels");
  if (shape[1] != 0 && shape[2] > k_max_image_bytes / 3 / shape[1]) refuse("images of more than 1 GiB each");
  check_data(file, header, 1);
  return {.num_images = shape[0],
          .height = static_cast<std::uint32_t>(shape[1]),
          .width = static_cast<std::uint32_t>(shape[2]),
          .data_offset = header.data_offset};
}

}  // namespace bale::npy
