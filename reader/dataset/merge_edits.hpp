// How the images of several datasets were changed, as one text per edit.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

/// Manifest::edits
using ImageEditNames = std::map<std::string, std::string>;

/// Ends the value of an edit that not all images have.
inline constexpr std::string_view k_some_images = " (some images)";

/// What the datasets have in common stays. Other values are joined, and say that they hold for some images.
ImageEditNames merge_edits(const std::vector<ImageEditNames>& datasets);

}  // namespace bale
