// Finding the samples of an array of images, ours or another tool's (FORMAT.md).
#pragma once

#include <string>

#include "bale/formats/npy/image_array.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::npy {

void scan(const std::string& path, IndexBuilder& index);

/// Sets the image of every sample of `index`. Throws `damaged` if the numbers of images and samples differ.
void set_image_extents(const std::string& path, const ImageArray& array, IndexBuilder& index);

}  // namespace bale::npy
