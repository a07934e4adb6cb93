// Runs loader/transform for tests in other languages: its random draws, and the images that it makes.
//
//   bale_augment_tool images [OPTION=VALUE...]      stdin: one FILE per line, as samples 0, 1, ...
//                                                   Answers each with a line of JSON and the bytes that it announces
//   bale_augment_tool draws W H COUNT [OPTION=...]  COUNT lines of JSON, samples 0, 1, ...
//   bale_augment_tool color OPERATION=AMOUNT...     stdin: RGB pixels. Writes them changed by each operation alone:
//                                                   brightness, contrast, saturation, hue, gray
//   bale_augment_tool halves                        stdin: float32. Writes all as float16, then all as bfloat16
// Options: kind size=WxH filter order short scale=A,B ratio=A,B flip jitter=B,C,S,H gray dtype layout normalize
// seed epoch copy max_pixels. An error of an image is a line {"error": ..., "code": ...}; other errors go to stderr.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/color/color.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/tests/support/drawn.hpp"

namespace {

using bale::Transform;
namespace T = bale::transforms;

struct Options {
  std::string kind = "train";
  bale::test::Training training{.size = {224, 224}};
  std::uint32_t resize_short = 256;
  bale::PassOrder pass_order = bale::PassOrder::pillow_13;
  bale::DType dtype = bale::DType::uint8;
  bale::PixelLayout layout = bale::PixelLayout::nhwc;
  bool normalize = false;
  bale::DrawKey key{};
  std::uint64_t max_pixels = bale::k_default_max_pixels;
};

std::vector<double> numbers(const std::string& text, char separator = ',') {
  std::vector<double> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    found.push_back(std::stod(text.substr(at, end - at)));
    at = end + 1;
  }
  return found;
}

bale::TransformList list_of(const Options& options) {
  const bale::Size size = options.training.size;
  if (options.kind == "train") return bale::test::training_list(options.training);
  if (options.kind == "padded") return {T::PadTo{.size = size}};
  if (options.kind != "val") return {};
  return {T::Resize{.height = options.resize_short, .interpolation = options.training.filter},
          T::CenterCrop{.size = size}};
}

Transform transform_of(const Options& options) {
  using Shape = Transform::Shape;
  const Shape shape = options.kind == "ragged" ? Shape::ragged : options.kind == "raw" ? Shape::raw : Shape::fixed;
  Transform transform =
      bale::list_transform(list_of(options), options.layout, options.pass_order, bale::PixelMode::rgb, shape);
  transform.dtype = options.dtype;
  transform.normalize = options.normalize;
  return transform;
}

bale::Range range(const std::string& text) { return {numbers(text).at(0), numbers(text).at(1)}; }

template <typename Value>
Value choice(const std::string& text, std::initializer_list<std::pair<const char*, Value>> choices) {
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
  }
  throw std::invalid_argument("no such choice: " + text);
}

void set_option(Options& options, const std::string& name, const std::string& value) {
  bale::test::Training& training = options.training;
  if (name == "kind") {
    options.kind = value;
  } else if (name == "size") {
    training.size = {.height = static_cast<std::uint32_t>(numbers(value, 'x').at(1)),
                     .width = static_cast<std::uint32_t>(numbers(value, 'x').at(0))};
  } else if (name == "filter") {
    training.filter =
        choice<bale::Filter>(value, {{"bilinear", bale::Filter::bilinear}, {"bicubic", bale::Filter::bicubic}});
  } else if (name == "order") {
    options.pass_order = choice<bale::PassOrder>(
        value, {{"pillow_12", bale::PassOrder::pillow_12}, {"pillow_13", bale::PassOrder::pillow_13}});
  } else if (name == "short") {
    options.resize_short = static_cast<std::uint32_t>(std::stoul(value));
  } else if (name == "scale") {
    training.scale = range(value);
  } else if (name == "ratio") {
    training.ratio = range(value);
  } else if (name == "flip") {
    training.flip = std::stod(value);
  } else if (name == "jitter") {
    const std::vector<double> part = numbers(value);
    training.jitter = T::ColorJitter::symmetric(part.at(0), part.at(1), part.at(2), part.at(3));
  } else if (name == "gray") {
    training.gray = std::stod(value);
  } else if (name == "dtype") {
    options.dtype = choice<bale::DType>(value, {{"uint8", bale::DType::uint8},
                                                {"float16", bale::DType::float16},
                                                {"bfloat16", bale::DType::bfloat16},
                                                {"float32", bale::DType::float32}});
  } else if (name == "layout") {
    options.layout =
        choice<bale::PixelLayout>(value, {{"nhwc", bale::PixelLayout::nhwc}, {"nchw", bale::PixelLayout::nchw}});
  } else if (name == "normalize") {
    options.normalize = value == "1";
  } else if (name == "seed") {
    options.key.seed = std::stoull(value);
  } else if (name == "epoch") {
    options.key.epoch = std::stoull(value);
  } else if (name == "copy") {
    options.key.copy = std::stoull(value);
  } else if (name == "max_pixels") {
    options.max_pixels = std::stoull(value);
  } else {
    throw std::invalid_argument("no such option: " + name);
  }
}

std::pair<std::string, std::string> split_option(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos) throw std::invalid_argument("not NAME=VALUE: " + text);
  return {text.substr(0, at), text.substr(at + 1)};
}

Options parse_options(const std::vector<std::string>& args, std::size_t from) {
  Options options;
  for (std::size_t i = from; i < args.size(); ++i) {
    const auto [name, value] = split_option(args[i]);
    set_option(options, name, value);
  }
  return options;
}

std::string draw_json(const bale::test::Drawn& draw) {
  return fmt::format(
      R"("crop": [{}, {}, {}, {}], "flip": {}, "gray": {}, "jitter": {}, "order": [{}], "factors": [{}])", draw.crop.x,
      draw.crop.y, draw.crop.width, draw.crop.height, draw.flip, draw.gray, !draw.order.empty(),
      fmt::join(draw.order, ", "), fmt::join(draw.factors, ", "));
}

std::vector<char> read_stdin() {
  std::cin >> std::noskipws;
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

void write_out(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, stdout) != size) throw std::runtime_error("cannot write to stdout");
}

void run_images(const Options& options) {
  const Transform transform = transform_of(options);
  bale::SamplePipeline pipeline(transform, options.max_pixels);
  std::vector<std::byte> out(transform.has_fixed_shape() ? transform.image_bytes() : std::size_t{1} << 24);
  bale::DrawKey key = options.key;
  for (std::string file; std::getline(std::cin, file); ++key.sample) {
    try {
      const std::vector<std::byte> bytes = bale::read_file(file);
      std::fill(out.begin(), out.end(), std::byte{0xA5});  // makes bytes visible that are not written
      const bale::AppliedTransform applied = pipeline.run(bytes, key, out);
      fmt::print("{{\"source\": [{}, {}], \"bytes\": {}, {}}}\n", applied.source_width, applied.source_height,
                 applied.bytes, draw_json(bale::test::drawn(pipeline.steps())));
      write_out(out.data(), applied.bytes);
    } catch (const bale::Error& error) {
      std::string text;
      for (const char c : error.message()) text += c == '"' || c == '\\' ? '\'' : c;
      fmt::print("{{\"error\": \"{}\", \"code\": {}}}\n", text, static_cast<int>(error.code()));
    }
  }
}

void run_draws(const Options& options, std::uint32_t width, std::uint32_t height, std::uint64_t count) {
  const Transform transform = transform_of(options);
  bale::DrawKey key = options.key;
  for (key.sample = 0; key.sample < count; ++key.sample) {
    fmt::print("{{{}}}\n", draw_json(bale::test::drawn(bale::draw_steps(transform, key, width, height))));
  }
}

void run_color(const std::vector<std::string>& args) {
  const std::vector<char> pixels = read_stdin();
  for (std::size_t i = 1; i < args.size(); ++i) {
    const auto [operation, amount] = split_option(args[i]);
    std::vector<std::uint8_t> rgb(pixels.begin(), pixels.end());
    if (operation == "gray") {
      bale::make_gray(rgb.data(), rgb.size() / 3);
    } else {
      const auto adjust =
          choice<void (*)(std::uint8_t*, std::size_t, double)>(operation, {{"brightness", bale::adjust_brightness},
                                                                           {"contrast", bale::adjust_contrast},
                                                                           {"saturation", bale::adjust_saturation},
                                                                           {"hue", bale::adjust_hue}});
      adjust(rgb.data(), rgb.size() / 3, std::stod(amount));
    }
    write_out(rgb.data(), rgb.size());
  }
}

void run_halves() {
  const std::vector<char> bytes = read_stdin();
  for (const bool brain : {false, true}) {
    std::vector<std::uint16_t> halves;
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const auto value = bale::load_at<float>(reinterpret_cast<const std::byte*>(bytes.data() + at));
      halves.push_back(brain ? bale::to_bfloat16(value) : bale::to_float16(value));
    }
    write_out(halves.data(), halves.size() * 2);
  }
}

int run(const std::vector<std::string>& args) {
  const std::string command = args.empty() ? "" : args[0];
  if (command == "images") {
    run_images(parse_options(args, 1));
  } else if (command == "draws" && args.size() >= 4) {
    run_draws(parse_options(args, 4), static_cast<std::uint32_t>(std::stoul(args[1])),
              static_cast<std::uint32_t>(std::stoul(args[2])), std::stoull(args[3]));
  } else if (command == "color") {
    run_color(args);
  } else if (command == "halves") {
    run_halves();
  } else {
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 1;
}
