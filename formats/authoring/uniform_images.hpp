// UniformImages: the images of a shard whose layout holds pixels, decoded and all of one size. For one thread.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

class UniformImages {
 public:
  /// Takes the option "size" (resize the shorter side to it and cut out the central square; without it all images must
  /// be of one size as they are). Throws `invalid_argument` where it is no number of pixels.
  explicit UniformImages(const WriterOptions& options);

  /// The sample's image. Throws `invalid_argument` where there is none, it cannot be decoded, is of another size than
  /// the one accepted first, or beyond 1 GiB decoded.
  Image decode(const SampleView& sample) const;
  /// The image went into the shard: those to come must be of its size.
  void accept(const Image& image);

  std::uint32_t width() const { return width_; }  // 0 before the first image
  std::uint32_t height() const { return height_; }

 private:
  std::string path_;
  std::uint32_t size_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
};

}  // namespace bale
