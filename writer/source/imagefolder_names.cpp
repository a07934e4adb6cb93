#include "bale/writer/source/imagefolder_names.hpp"

#include <algorithm>
#include <array>

#include "bale/formats/shard/key.hpp"
#include "bale/writer/source/file_rows.hpp"

namespace bale {

bool is_imagefolder_name(std::string_view name) {
  static constexpr std::array<std::string_view, 8> k_fields{"jpg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp"};
  if (name.find('.') == std::string_view::npos) return false;
  return std::find(k_fields.begin(), k_fields.end(), field_name(split_file_name(name).extension)) != k_fields.end();
}

}  // namespace bale
