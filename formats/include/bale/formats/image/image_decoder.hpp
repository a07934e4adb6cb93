// ImageDecoder: decodes a region of an image, or the whole image, and reuses its memory for the next image. A region of
// an array of pixels is a view of the stored bytes. Of other kinds than JPEG and PNG, read() decodes the whole image.
//
// The pixels are those of decode_image() at that place, bit for bit. The cost of a region is little more than the
// entropy decoding of the rows down to its last one. A truncated image is refused whichever region is read: open()
// looks for the end of the image, and decodes all of it if the end is missing. So whether an image is refused depends
// on its bytes alone.
//
// Threads: used by one thread at a time.
#pragma once

#include <array>
#include <memory>

#include "bale/formats/image/image.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/image/pixel_mode.hpp"
#include "bale/formats/image/region.hpp"

namespace bale {

/// What open() checks before a region is read.
enum class WholeCheck : std::uint8_t {
  none,    // nothing: a region of a truncated image may decode, although decode_image() refuses the image; and the
           // checksums of planes are taken to be right
  end,     // that the end of the image is there, or else that all of it decodes
  decode,  // that all of it decodes
};

class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  /// Reads the header and checks that the image is complete. A JPEG may be stored as planes
  /// (formats/image/jpeg/planes/PLANES.md): the pixels and errors are those of the original. `bytes` must outlive
  /// read(). Throws `damaged` or `unsupported`; throws `unsupported` before it allocates if width * height exceeds
  /// `max_pixels`, and if the image cannot give pixels of `mode`.
  ImageHeader open(Bytes bytes, std::uint64_t max_pixels = k_default_max_pixels, WholeCheck check = WholeCheck::end,
                   PixelMode mode = PixelMode::rgb);

  /// Whether the open image is a JPEG that every JPEG decoder reads: Y, Cb and Cr of 8 bits in one sequential scan,
  /// coded by Huffman, with luma sampled once or twice as finely as chroma. Not if it is stored as planes. Until
  /// read().
  bool is_plain_jpeg() const;

  /// Seek points of the open image, which must outlive read(). They are ignored if they are damaged or were made from
  /// other bytes. They change only the time, not the pixels and errors.
  void use_seek_points(const KeptSeekPoints& kept);

  /// The pixels of `region`, in the mode given to open(). The stride may be larger than a row. Each open() permits one
  /// read(). Lifetime: the view borrows from this decoder until its next open(), read() or decode_ahead(). The view of
  /// an array of pixels borrows from the bytes given to open(). Throws `damaged` or `unsupported`, after which the next
  /// image must be opened. Throws `invalid_argument` if no image is open, or if the region is empty or not inside the
  /// image; in the latter case read() may be called again.
  PixelView read(const Region& region);

  /// Frees the memory behind the view of the last read() if it is large. A program with several decoders then has one
  /// large image at a time.
  void free_large();

  /// A decoder whose image is open, and the region that will be read next.
  struct Upcoming {
    ImageDecoder* decoder = nullptr;
    Region region{};
  };
  /// Decodes two baseline JPEGs in one loop, which takes much less time than one after the other, because decoding
  /// mostly waits for its own last result. Ends as soon as one of them is decoded. Returns, for each, whether it is
  /// ready: its next read(), if it is for this region, has nothing left to wait for, or the image is none that can be
  /// decoded in this way. At least one is. The other one may be given again, with the same region and next to a third
  /// decoder, and continues where it was; or be read at once. Results and errors of read() are the same as without this
  /// call. The decoders must be different objects.
  static std::array<bool, 2> decode_ahead(const Upcoming& first, const Upcoming& second);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bale
