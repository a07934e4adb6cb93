#include "bale/formats/image/codec/codec.hpp"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"

namespace bale::image_detail {
namespace {

bool is_rgb(const ArrayHeader& header) {
  constexpr std::uint64_t k_limit = std::numeric_limits<std::uint32_t>::max();
  const auto& shape = header.shape;
  return header.type == "|u1" && !header.fortran_order && shape.size() == 3 && shape[0] <= k_limit &&
         shape[1] <= k_limit && shape[2] == 3;
}

}  // namespace

ImageHeader probe_array(Bytes bytes) {
  ImageHeader out{.kind = ImageKind::array};
  const auto header = parse_array_header(bytes);
  if (!header || !is_rgb(*header)) return out;
  out.height = static_cast<std::uint32_t>(header->shape[0]);
  out.width = static_cast<std::uint32_t>(header->shape[1]);
  out.channels = 3;
  return out;
}

std::size_t array_pixels_offset(Bytes bytes) {
  const auto header = parse_array_header(bytes);
  if (!header) fail_array_header(bytes);
  if (header->fortran_order) {
    throw Error(ErrorCode::unsupported, "array in Fortran order", {.hint = "save it with numpy.ascontiguousarray()"});
  }
  if (!is_rgb(*header)) {
    throw Error(ErrorCode::unsupported, fmt::format("array of shape ({}) and type {}, not height x width x 3 bytes",
                                                    fmt::join(header->shape, ", "), printable(header->type)));
  }
  const auto expected = num_elements(*header);
  if (!expected || bytes.size() - header->data_offset != *expected) {
    throw Error(ErrorCode::damaged, fmt::format("array: {} bytes of pixels, but its shape is ({})",
                                                bytes.size() - header->data_offset, fmt::join(header->shape, ", ")));
  }
  return header->data_offset;
}

}  // namespace bale::image_detail
