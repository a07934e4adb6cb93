// The array of a shard: N images of one size, decoded. FORMAT.md.
#pragma once

#include <cstdint>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/file.hpp"

namespace bale::npy {

/// Limit of the size of one image.
inline constexpr std::uint64_t k_max_image_bytes = std::uint64_t{1} << 30;

/// Reads the header of an array file. Throws `damaged` if it cannot be parsed.
ArrayHeader read_array_header(const File& file);

/// Throws `damaged` if the file does not have exactly the length that its header states.
void check_data(const File& file, const ArrayHeader& header, std::uint64_t element_bytes);

struct ImageArray {
  std::uint64_t num_images = 0;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::uint64_t data_offset = 0;
};

inline std::uint64_t image_bytes(std::uint32_t height, std::uint32_t width) {
  return std::uint64_t{height} * width * 3;
}

/// Reads and checks the header of a shard. Throws `unsupported` for an array of another type, order or shape, `damaged`
/// if header and file contradict each other.
ImageArray read_image_array(const File& file);

}  // namespace bale::npy
