#include "bale/formats/core/key.hpp"

#include <algorithm>
#include <array>

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

bool is_image_field(std::string_view field) {
  // torchvision.datasets.folder.IMG_EXTENSIONS, with `jpeg` already spelled `jpg`.
  static constexpr std::array<std::string_view, 8> k_image_fields{"jpg", "png", "ppm",  "bmp",
                                                                  "pgm", "tif", "tiff", "webp"};
  return std::find(k_image_fields.begin(), k_image_fields.end(), field) != k_image_fields.end();
}

}  // namespace bale
