// ImageDecoder: JPEG and PNG bytes to pixels, whole or a part, with memory that is reused from image to image. A part
// of an array of pixels is where it is: nothing is copied.
//
// A part is what decode_image() holds at that place, bit for bit, and costs little more than the entropy decoding of
// the rows down to its last one. For one thread at a time.
//
// What comes after a part's last row is not looked at: bytes that are cut off there decode, although decode_image()
// refuses them. Where every byte matters, compare checksums first. (Progressive JPEGs and interlaced PNGs hold every
// row's data all over the file, so these need it whole.)
#pragma once

#include <memory>

#include "bale/formats/image/entry_points.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/region.hpp"

namespace bale {

class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  /// Reads the header. `bytes` must outlive the reads that follow. Throws `damaged` or `unsupported`, the
  /// latter where width * height exceeds `max_pixels`, before anything of that size is allocated.
  ImageHeader open(Bytes bytes, std::uint64_t max_pixels = k_default_max_pixels);

  /// Hands over the entry points that are kept of the image that is open; they must outlive the read that follows.
  /// Those that are damaged, or were made of other bytes, are not used. Pixels and errors are the same with and
  /// without, only the time differs.
  void use_entry_points(const KeptEntryPoints& kept);

  /// The pixels of `region`, as decode_image() has them there; rows may be further apart than the region is wide.
  /// Borrows from the decoder until its next read(), and from the bytes where they are pixels already. One successful
  /// read an open(). Throws `damaged` or `unsupported` as decode_image() does for what the region needs, and
  /// `invalid_argument` for a region that is empty or not inside the image; after that one a read may be tried again,
  /// after the others the next image is to be opened.
  PixelView read(const Region& region);

  /// A decoder whose image is open, and the region that is to be read of it next.
  struct Upcoming {
    ImageDecoder* decoder = nullptr;
    Region region{};
  };
  /// Decodes two images side by side, where they are baseline JPEGs: in a good deal less time than one after the other,
  /// since decoding waits most of the time for its own last result. Each decoder's next read() of that region finds it
  /// done; results and errors are those of a read() alone.
  static void decode_ahead(const Upcoming& first, const Upcoming& second);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
