// The functions of libtiff that bale calls, which open it; internal.
#pragma once

#include <tiffio.h>

#include "bale_lazy_tiff.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

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
