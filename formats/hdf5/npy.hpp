// NumPy's .npy, version 1.0: the header that makes an array's bytes a file of their own.
//
// Source: numpy.lib.format: magic "\x93NUMPY", version 1 0, header length u16, a Python dict literal padded with
// spaces and a newline so that the data starts at a multiple of 64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bale/formats/core/bytes.hpp"

namespace bale::h5 {

/// Header of a C-ordered array; `descr` as NumPy spells it ("|u1", "<f4").
std::string npy_header(std::string_view descr, std::span<const std::uint64_t> shape);

/// Pixels inside an .npy of shape (height, width, 3) and type |u1.
struct NpyImage {
  std::uint32_t width;
  std::uint32_t height;
  Bytes pixels;  // borrows
};

/// nullopt where `npy` is anything but such a file written by NumPy or by us.
std::optional<NpyImage> parse_npy_image(Bytes npy);

}  // namespace bale::h5
