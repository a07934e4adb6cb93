#include "bale/formats/tfrecord/names.hpp"

#include <algorithm>

#include "bale/formats/shard/key.hpp"

namespace bale::tfrecord {

std::string image_format(std::string_view field) {
  std::string format(field == "jpg" ? "jpeg" : field);
  std::transform(format.begin(), format.end(), format.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return format;
}

std::string field_of_feature(std::string_view feature) {
  std::string name = field_name(feature);
  std::replace(name.begin(), name.end(), '/', '_');
  return name.empty() ? "bin" : name;
}

}  // namespace bale::tfrecord
