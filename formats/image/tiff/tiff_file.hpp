// A TIFF that libtiff reads from memory, and libtiff's errors; internal.
#pragma once

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include <tiffio.h>

#include "bale/formats/base/system/lazy_library.hpp"
#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale_lazy_tiff.hpp"

// The functions of libtiff that bale calls, which open it; internal.

#ifdef BALE_LAZY_TIFF

namespace bale::image_detail {

inline constinit LazyLibrary tiff_library{BALE_LAZY_TIFF};

// clang-format off
#define BALE_TIFF(name) BALE_LAZY_FUNCTION(tiff_library, name)
BALE_TIFF(TIFFClientOpenExt) BALE_TIFF(TIFFClose) BALE_TIFF(TIFFComputeStrip) BALE_TIFF(TIFFComputeTile)
BALE_TIFF(TIFFGetField) BALE_TIFF(TIFFGetFieldDefaulted) BALE_TIFF(TIFFGetStrileByteCountWithErr)
BALE_TIFF(TIFFGetStrileOffsetWithErr) BALE_TIFF(TIFFIsBigEndian) BALE_TIFF(TIFFIsBigTIFF)
BALE_TIFF(TIFFIsCODECConfigured) BALE_TIFF(TIFFIsTiled) BALE_TIFF(TIFFNumberOfStrips) BALE_TIFF(TIFFNumberOfTiles)
BALE_TIFF(TIFFOpenOptionsAlloc) BALE_TIFF(TIFFOpenOptionsFree) BALE_TIFF(TIFFOpenOptionsSetErrorHandlerExtR)
BALE_TIFF(TIFFOpenOptionsSetMaxSingleMemAlloc) BALE_TIFF(TIFFOpenOptionsSetWarningHandlerExtR)
BALE_TIFF(TIFFRGBAImageBegin) BALE_TIFF(TIFFRGBAImageEnd) BALE_TIFF(TIFFRGBAImageGet) BALE_TIFF(TIFFRGBAImageOK)
BALE_TIFF(TIFFReadEncodedStrip) BALE_TIFF(TIFFReadEncodedTile) BALE_TIFF(TIFFScanlineSize) BALE_TIFF(TIFFSetField)
BALE_TIFF(TIFFStripSize) BALE_TIFF(TIFFTileRowSize) BALE_TIFF(TIFFTileSize)
#undef BALE_TIFF
// clang-format on

}  // namespace bale::image_detail

#endif

namespace bale::image_detail {

/// The first image of a TIFF. `bytes` must outlive it. libtiff prints nothing: its first error becomes the message.
class TiffFile {
 public:
  /// Throws `damaged` if libtiff cannot read the first directory. libtiff allocates at most `max_block` bytes at once.
  TiffFile(Bytes bytes, std::uint64_t max_block);
  ~TiffFile();
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  TIFF* get() const { return tiff_; }
  Bytes bytes() const { return input_.bytes; }

  /// Throws `damaged` with what libtiff has said.
  [[noreturn]] void fail(const char* otherwise) const;

  template <typename Value>
  Value field(std::uint32_t tag, Value otherwise) const {
    Value value = otherwise;
    return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : otherwise;
  }

 private:
  struct Input {
    Bytes bytes;
    std::size_t at = 0;
  };
  static tmsize_t read(thandle_t input, void* out, tmsize_t length);
  static toff_t seek(thandle_t input, toff_t offset, int whence);
  static int map(thandle_t input, void** base, toff_t* size);
  static int on_error(TIFF* tiff, void* self, const char* module, const char* format, std::va_list arguments);

  Input input_;
  std::array<char, 256> error_{};  // no string: nothing may be thrown through libtiff
  TIFF* tiff_ = nullptr;
};

}  // namespace bale::image_detail
