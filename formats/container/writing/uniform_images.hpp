// UniformImages: the decoded images of a shard whose layout holds pixels. All have one size. For one thread.
#pragma once

#include <cstdint>
#include <string>

#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

class UniformImages {
 public:
  /// Reads the option "size": resize the shorter side to it and cut out the central square. Without it all images must
  /// have the same size. Throws `invalid_argument` if it is not a number of pixels.
  explicit UniformImages(const WriterOptions& options);

  /// The sample's image. Throws `invalid_argument` if there is none, if it cannot be decoded, if its size differs from
  /// the image accepted first, or if it exceeds 1 GiB decoded.
  Image decode(const SampleView& sample) const;
  /// To be called when the image is in the shard: later images must have its size.
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
