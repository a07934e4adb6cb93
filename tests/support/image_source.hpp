// A Source of small generated images: photo-like JPEGs of many sizes, some PNGs, and bad ones on request.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/image/image.hpp"
#include "bale/writer/source/source.hpp"

namespace bale::test {

class ImageSource : public Source {
 public:
  /// Samples listed in `bad` are not images.
  explicit ImageSource(std::uint64_t size, std::set<std::uint64_t> bad = {}) {
    for (std::uint64_t i = 0; i < size; ++i) images_.push_back(bad.contains(i) ? not_an_image() : image(i));
  }
  /// These images.
  explicit ImageSource(std::vector<std::vector<std::byte>> images) : images_(std::move(images)) {}

  std::uint64_t size() const override { return images_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::uint64_t i) const override { return static_cast<std::int64_t>(i % 3); }

  void describe(std::uint64_t i, SourceSample& out) const override {
    out.key = key(i);
    out.label = label(i);
    out.fields = {{0, images_[i].size()}, {1, 1}};
  }
  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    thread_local std::string text;
    thread_local std::string name;
    text = std::to_string(label(i));
    name = key(i);
    scratch.fields() = {{"jpg", images_[i]}, {"cls", as_bytes(text)}};
    const ImageHeader header = probe_image(images_[i]);
    return {.key = name, .label = label(i), .width = header.width, .height = header.height, .fields = scratch.fields()};
  }
  std::string origin(std::uint64_t i) const override { return key(i); }
  void will_need(std::uint64_t) const override {}
  void fingerprint(std::uint64_t i, std::string& out) const override { out += key(i) + "\n"; }
  const NoticeLog& notices() const override { return notices_; }

  static std::string key(std::uint64_t i) { return "image" + std::to_string(i); }

 private:
  static std::vector<std::byte> image(std::uint64_t i) {
    const auto width = static_cast<std::uint32_t>(33 + i * 17 % 61);
    const auto height = static_cast<std::uint32_t>(29 + i * 29 % 53);
    Image made{.width = width, .height = height, .rgb = std::vector<std::uint8_t>(std::size_t{width} * height * 3)};
    for (std::size_t at = 0; at < made.rgb.size(); ++at) {
      made.rgb[at] = static_cast<std::uint8_t>((at / 3 % width) * (i % 5 + 1) + (at / 3 / width) * 3 + at % 3 * 40 + i);
    }
    return i % 7 == 6 ? encode_png(made) : encode_jpeg(made, 80);
  }
  static std::vector<std::byte> not_an_image() { return std::vector<std::byte>(500, std::byte{'x'}); }

  std::vector<std::vector<std::byte>> images_;
  std::vector<std::string> fields_{"jpg", "cls"};
  std::vector<std::string> classes_{"ant", "bee", "cat"};
  NoticeLog notices_;
};

}  // namespace bale::test
