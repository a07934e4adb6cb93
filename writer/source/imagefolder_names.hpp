// The files that torchvision's ImageFolder takes, by their names; internal.
#pragma once

#include <string_view>

namespace bale {

/// torchvision.datasets.folder.IMG_EXTENSIONS, for messages.
inline constexpr std::string_view k_imagefolder_extensions = ".jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp";

/// Whether ImageFolder takes a file of that name, which may have no extension.
bool is_imagefolder_name(std::string_view name);

}  // namespace bale
