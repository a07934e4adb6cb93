// Small pictures of samples for a page, as data: URIs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/tools/survey/survey.hpp"

namespace bale::tools {

/// An <img> of a stored image, a JPEG of at most 144 pixels on its longer side. `alt` names it where no caption does.
/// The image is decoded at a fraction of its size that leaves its shorter side `min_side` pixels, if it has as many.
/// Throws what decode_image() throws.
std::string picture_element(Bytes stored, std::uint32_t min_side, std::string_view alt = {});

/// What stands where there is no picture.
extern const std::string_view k_no_picture;

/// Reads samples again, and makes a JPEG of at most 144 pixels on its longer side. Used by one thread at a time.
class Pictures {
 public:
  explicit Pictures(const Survey& survey) : survey_(survey) {}

  /// An <img>, or a placeholder with the reason if there is no picture. The image is upright only if its pixels are.
  std::string element(std::uint64_t image, std::string_view alt = {});
  /// How many pictures were made.
  std::uint64_t count() const { return count_; }

 private:
  std::string make(std::uint64_t image, std::string_view alt);

  const Survey& survey_;
  Scratch scratch_;
  std::uint64_t count_ = 0;
};

}  // namespace bale::tools
