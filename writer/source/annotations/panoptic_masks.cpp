#include "bale/writer/source/annotations/panoptic_masks.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/files/long_path.hpp"

namespace bale {

PanopticMasks::PanopticMasks(const std::string& annotations)
    : annotations_(annotations),
      directory_(annotations.ends_with(".json") ? annotations.substr(0, annotations.size() - 5)
                                                : annotations + ".masks") {}

void PanopticMasks::add(std::uint32_t image, std::string png) {
  if (names_.size() <= image) names_.resize(std::size_t{image} + 1);
  if (!names_[image].empty()) {
    throw Error(ErrorCode::damaged, fmt::format("two panoptic annotations of one image: {} and {}",
                                                printable(names_[image]), printable(png)));
  }
  names_[image] = std::move(png);
}

void PanopticMasks::find(const std::vector<std::uint32_t>& row_of_image, const std::vector<std::string>& images,
                         AnnotationLog& log) {
  struct stat info {};
  if (stat_long_path(directory_, info) != 0 || !S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::not_found, "no directory with the PNGs of the panoptic annotations",
                {.path = directory_, .hint = "unpack the zip of this name there, as COCO has it next to the JSON"});
  }
  names_.resize(row_of_image.size());
  mask_of_row_.assign(images.size(), AnnotationSet::k_no_row);
  std::uint64_t num_lost = 0;
  std::string first;
  for (std::size_t image = 0; image < row_of_image.size(); ++image) {
    const std::uint32_t row = row_of_image[image];
    const std::string& name = names_[image];
    if (row == AnnotationSet::k_no_row) continue;
    if (!name.empty() && files_.add(fmt::format("{}/{}", directory_, name))) {
      mask_of_row_[row] = files_.size() - 1;
    } else if (num_lost++ == 0) {
      first = name.empty() ? fmt::format("{} has none", printable(images[row]))
                           : fmt::format("{}/{} does not exist", printable(directory_), printable(name));
    }
  }
  names_ = {};
  if (num_lost == 0) return;
  log.lose(annotations_, fmt::format("{} of {} images have no panoptic annotation: {}", num_lost, images.size(), first),
           num_lost);
}

void PanopticMasks::append(std::uint32_t row, std::string& out) const {
  const std::string png = files_.read(mask_of_row_[row]);
  if (!png.starts_with("\x89PNG\r\n\x1a\n")) {
    throw Error(ErrorCode::damaged, "not a PNG", {.path = files_.path(mask_of_row_[row])});
  }
  out += png;
}

}  // namespace bale
