#include "bale/formats/core/key.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace bale {

std::optional<KeyAndExtension> split_member_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return std::nullopt;
  return KeyAndExtension{name.substr(0, dot), name.substr(dot + 1)};
}

bool is_reserved_member(std::string_view name) {
  const std::string_view top = name.substr(0, name.find('/'));
  return top.size() >= 4 && top.starts_with("__") && top.ends_with("__");
}

std::string field_name(std::string_view extension) {
  std::string name(extension);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name == "jpeg" ? "jpg" : name;
}

std::string encode_key(std::string_view stem) {
  const std::size_t slash = stem.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  std::string key(stem.substr(0, base));
  for (const char c : stem.substr(base)) {
    if (c == '.') {
      key += "%2E";
    } else if (c == '%') {
      key += "%25";
    } else {
      key += c;
    }
  }
  if (is_reserved_member(key)) key.replace(0, 1, "%5F");
  return key;
}

std::string key_of_file(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  if (dot != std::string_view::npos && dot > base) path = path.substr(0, dot);
  return base == path.size() ? std::string() : encode_key(path);
}

std::string ForeignKeys::take(std::string wanted, std::uint64_t number) {
  std::string key = wanted.empty() ? fmt::format("{:08d}", number) : std::move(wanted);
  while (!used_.insert(key).second) key += fmt::format("-{:08d}", number);
  return key;
}

bool is_image_field(std::string_view field) {
  // torchvision.datasets.folder.IMG_EXTENSIONS, with `jpeg` already spelled `jpg`.
  static constexpr std::array<std::string_view, 8> k_image_fields{"jpg", "png", "ppm",  "bmp",
                                                                  "pgm", "tif", "tiff", "webp"};
  return std::find(k_image_fields.begin(), k_image_fields.end(), field) != k_image_fields.end();
}

}  // namespace bale
