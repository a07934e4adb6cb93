#include "bale/formats/shard/sample/key.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/text/ascii_case.hpp"

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
  std::string name = lower_case(extension);
  return name == "jpeg" ? "jpg" : name;
}

namespace {

constexpr std::string_view k_escaped_underscore = "%5F";

std::size_t base_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

/// Whether the key begins with "%5F" or "%25...5F" and is a reserved name if '_' replaces this prefix: the result of
/// escaping a reserved name. `mark` is then the length of the prefix.
bool opens_as_escaped(std::string_view key, std::size_t& mark) {
  if (!key.starts_with('%')) return false;
  mark = 1;
  while (key.substr(mark).starts_with("25")) mark += 2;
  if (!key.substr(mark).starts_with("5F")) return false;
  mark += 2;
  return is_reserved_member("_" + std::string(key.substr(mark)));
}

}  // namespace

bool names_a_file(std::string_view key) {
  return key.find('.', base_of(key)) == std::string_view::npos && !is_reserved_member(key);
}

std::string encode_key(std::string_view stem) {
  const std::size_t base = base_of(stem);
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
  std::size_t mark = 0;
  if (is_reserved_member(key)) {
    key.replace(0, 1, k_escaped_underscore);
  } else if (base > 0 && opens_as_escaped(key, mark)) {
    key.insert(1, "25");  // a directory that really has this name
  }
  return key;
}

std::string made_key(std::string_view shard_name, std::uint64_t number) {
  return fmt::format("{}/{:08}", shard_name.substr(0, shard_name.find('.')), number);
}

std::string decode_key(std::string_view key) {
  std::string whole(key);
  std::size_t mark = 0;
  if (opens_as_escaped(key, mark)) {
    if (mark == k_escaped_underscore.size()) {
      whole.replace(0, mark, "_");
    } else if (base_of(key) > 0) {
      whole.erase(1, 2);
    }
  }
  const std::size_t base = base_of(whole);
  std::string stem = whole.substr(0, base);
  for (std::size_t at = base; at < whole.size(); ++at) {
    const std::string_view rest = std::string_view(whole).substr(at);
    const bool dot = rest.starts_with("%2E");
    const bool percent = rest.starts_with("%25");
    stem += dot ? '.' : percent ? '%' : rest.front();
    if (dot || percent) at += 2;
  }
  return encode_key(stem) == key ? stem : std::string(key);
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

namespace {

// torchvision.datasets.folder.IMG_EXTENSIONS, with `jpeg` already written as `jpg`, and then what ImageFolder ignores.
constexpr std::array<std::string_view, 13> k_image_fields{"jpg",  "png", "ppm", "bmp", "pgm",  "tif", "tiff",
                                                          "webp", "gif", "pbm", "pnm", "avif", "jxl"};

}  // namespace

bool is_image_field(std::string_view field) {
  return std::find(k_image_fields.begin(), k_image_fields.end(), field) != k_image_fields.end();
}

std::span<const std::string_view> image_fields() { return k_image_fields; }

bool is_jpeg_field(std::string_view field) { return field == "jpg" || field.ends_with(".jpg"); }

bool is_image_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && is_image_field(field_name(name.substr(dot + 1)));
}

std::string image_extensions() {
  std::string text = ".jpg, .jpeg";
  for (const std::string_view field : k_image_fields) {
    if (field != "jpg") text.append(", .").append(field);
  }
  return text;
}

}  // namespace bale
