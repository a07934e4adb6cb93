// A TIFF that libtiff reads from memory, and libtiff's errors; internal.
#pragma once

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bale/formats/image/codec/whole_codec.hpp"
#include "bale/formats/image/tiff/tiff_api.hpp"

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
