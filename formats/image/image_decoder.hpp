// ImageDecoder: JPEG and PNG bytes to pixels, whole or a part, with memory that is reused from image to image. A part
// of an array of pixels is where it is: nothing is copied.
//
// A part is what decode_image() holds at that place, bit for bit, and costs little more than the entropy decoding of
// the rows down to its last one. For one thread at a time.
//
// An image that is cut off is refused, whichever part is read: open() looks for the image's end, and decodes all of it
// if the end is missing. So what comes of an image depends on its bytes alone.
#pragma once

#include <memory>

#include "bale/formats/image/entry_points.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/region.hpp"

namespace bale {

/// What open() makes sure of before a part is read.
enum class WholeCheck : std::uint8_t {
  none,    // nothing: bytes that are cut off after a part's last row decode, although decode_image() refuses them
  end,     // that the image ends where its bytes do or before, or else that all of it decodes
  decode,  // that all of it decodes
};

class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  /// Reads the header and checks that the image is whole. `bytes` must outlive the reads that follow. Throws `damaged`
  /// or `unsupported`, the latter if width * height exceeds `max_pixels`, before anything of that size is allocated.
  ImageHeader open(Bytes bytes, std::uint64_t max_pixels = k_default_max_pixels, WholeCheck check = WholeCheck::end);

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
