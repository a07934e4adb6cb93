// Small pictures of samples for a page, as data: URIs.
#pragma once

#include <cstdint>
#include <string>

#include "bale/tools/survey/survey.hpp"

namespace bale::tools {

/// Reads samples again, and makes a JPEG of at most 144 pixels on its longer side. Used by one thread at a time.
class Pictures {
 public:
  explicit Pictures(const Survey& survey) : survey_(survey) {}

  /// An <img>, or a placeholder with the reason if there is no picture. The image is upright only if its pixels are.
  std::string element(std::uint64_t image);
  /// How many pictures were made.
  std::uint64_t count() const { return count_; }

 private:
  std::string encode(std::uint64_t image);

  const Survey& survey_;
  Scratch scratch_;
  std::uint64_t count_ = 0;
};

}  // namespace bale::tools
