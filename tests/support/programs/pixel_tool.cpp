// Runs formats/image on a file for tests in other languages. Writes the result to stdout.
//
//   bale_pixel_tool probe FILE           "KIND WIDTH HEIGHT CHANNELS"
//   bale_pixel_tool decode FILE          PPM
//   bale_pixel_tool each FILE...         per file a line "WIDTH HEIGHT HEADER-WIDTH HEADER-HEIGHT" and the pixels, or a
//                                        line "CODE: message"
//   bale_pixel_tool mode MODE FILE...    per file a line "WIDTH HEIGHT PIXEL-BYTES" and the pixels, or a line "CODE:
//   message" bale_pixel_tool thumbnail FILE SIDE  PPM bale_pixel_tool resize FILE W H [bilinear|bicubic
//   [pillow_13|pillow_12]]  PPM bale_pixel_tool crop FILE SIZE       PPM
// An error is one line on stderr, "CODE: message", and exit code 1.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/formats/image/resample/resizer.hpp"

namespace {

std::uint32_t parse_number(const std::string& text) { return static_cast<std::uint32_t>(std::stoul(text)); }

void write_ppm(const bale::Image& image) {
  fmt::print("P6\n{} {}\n255\n", image.width, image.height);
  if (std::fwrite(image.rgb.data(), 1, image.rgb.size(), stdout) != image.rgb.size()) std::exit(1);
}

bale::Image resize(const bale::Image& image, const std::vector<std::string>& args) {
  bale::ResizeSpec spec = bale::resize_whole(image.width, image.height, parse_number(args[2]), parse_number(args[3]));
  spec.filter = args[4] == "bicubic" ? bale::Filter::bicubic : bale::Filter::bilinear;
  if (args.size() > 5 && args[5] == "pillow_12") spec.pass_order = bale::PassOrder::pillow_12;
  bale::Image out{.width = spec.width, .height = spec.height};
  out.rgb.resize(std::size_t{spec.width} * spec.height * 3);
  const std::size_t stride = std::size_t{image.width} * 3;
  bale::Resizer().run(spec, {image.rgb.data(), stride, image.width, image.height}, out.rgb.data(),
                      std::size_t{out.width} * 3);
  return out;
}

const char* code_name(bale::ErrorCode code) {
  switch (code) {
    case bale::ErrorCode::damaged:
      return "damaged";
    case bale::ErrorCode::unsupported:
      return "unsupported";
    case bale::ErrorCode::invalid_argument:
      return "invalid_argument";
    default:
      return "other";
  }
}

void write_each(const std::vector<std::string>& args) {
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::vector<std::byte> bytes = bale::read_file(args[i]);
    try {
      const bale::Image image = bale::decode_image(bytes);
      const bale::ImageHeader header = bale::probe_image(bytes);
      fmt::print("{} {} {} {}\n", image.width, image.height, header.width, header.height);
      if (std::fwrite(image.rgb.data(), 1, image.rgb.size(), stdout) != image.rgb.size()) std::exit(1);
    } catch (const bale::Error& error) {
      fmt::print("{}: {}\n", code_name(error.code()), error.message());
    }
  }
}

bale::PixelMode mode_of(const std::string& name) {
  for (const auto mode : {bale::PixelMode::gray, bale::PixelMode::rgba, bale::PixelMode::gray_16}) {
    if (name == bale::pixel_mode_name(mode)) return mode;
  }
  return bale::PixelMode::rgb;
}

void write_mode(const std::vector<std::string>& args) {
  bale::ImageDecoder decoder;
  for (std::size_t i = 2; i < args.size(); ++i) {
    const std::vector<std::byte> bytes = bale::read_file(args[i]);
    try {
      const bale::ImageHeader header =
          decoder.open(bytes, bale::k_default_max_pixels, bale::WholeCheck::none, mode_of(args[1]));
      const bale::PixelView pixels = decoder.read({.width = header.width, .height = header.height});
      fmt::print("{} {} {}\n", pixels.width, pixels.height, pixels.pixel_bytes);
      const std::size_t row_bytes = std::size_t{pixels.width} * pixels.pixel_bytes;
      for (std::uint32_t y = 0; y < pixels.height; ++y) {
        if (std::fwrite(pixels.rgb + y * pixels.stride, 1, row_bytes, stdout) != row_bytes) std::exit(1);
      }
    } catch (const bale::Error& error) {
      fmt::print("{}: {}\n", code_name(error.code()), error.message());
    }
  }
}

int run(const std::vector<std::string>& args) {
  if (args.size() < 2) return 2;
  if (args[0] == "mode") {
    write_mode(args);
    return 0;
  }
  if (args[0] == "each") {
    write_each(args);
    return 0;
  }
  const std::string& command = args[0];
  const std::vector<std::byte> bytes = bale::read_file(args[1]);
  if (command == "probe" && args.size() == 2) {
    const bale::ImageHeader header = bale::probe_image(bytes);
    fmt::print("{} {} {} {}\n", bale::image_kind_name(header.kind), header.width, header.height, header.channels);
  } else if (command == "decode" && args.size() == 2) {
    write_ppm(bale::decode_image(bytes));
  } else if (command == "thumbnail" && args.size() == 3) {
    write_ppm(bale::decode_thumbnail(bytes, parse_number(args[2])));
  } else if (command == "resize" && args.size() == 4) {
    write_ppm(bale::resize_image(bale::decode_image(bytes), parse_number(args[2]), parse_number(args[3])));
  } else if (command == "resize" && args.size() >= 5 && args.size() <= 6) {
    write_ppm(resize(bale::decode_image(bytes), args));
  } else if (command == "crop" && args.size() == 3) {
    write_ppm(bale::resize_and_center_crop(bale::decode_image(bytes), parse_number(args[2])));
  } else {
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const bale::Error& error) {
    fmt::print(stderr, "{}: {}\n", code_name(error.code()), error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "other: {}\n", error.what());
  }
  return 1;
}
