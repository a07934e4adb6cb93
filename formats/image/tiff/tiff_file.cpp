#include "bale/formats/image/tiff/tiff_file.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bale/formats/image/codec/codec.hpp"

namespace bale::image_detail {
namespace {

struct FreeOptions {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

int ignore_warning(TIFF*, void*, const char*, const char*, std::va_list) { return 1; }

}  // namespace

TiffFile::TiffFile(Bytes bytes, std::uint64_t max_block) : input_{.bytes = bytes} {
  const std::unique_ptr<TIFFOpenOptions, FreeOptions> options(TIFFOpenOptionsAlloc());
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(max_block));
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_warning, nullptr);
  // "r" maps the "file", so that libtiff reads strips where they are, and compares their offsets with its end.
  tiff_ = TIFFClientOpenExt(
      "image", "r", &input_, read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, seek,
      [](thandle_t) { return 0; }, [](thandle_t input) -> toff_t { return static_cast<Input*>(input)->bytes.size(); },
      map, [](thandle_t, void*, toff_t) {}, options.get());
  if (tiff_ == nullptr) fail("libtiff cannot read it");
}

TiffFile::~TiffFile() { TIFFClose(tiff_); }

void TiffFile::fail(const char* otherwise) const {
  fail_as_library_says("TIFF", error_[0] == 0 ? otherwise : error_.data());
}

tmsize_t TiffFile::read(thandle_t handle, void* out, tmsize_t length) {
  Input& input = *static_cast<Input*>(handle);
  if (length <= 0 || input.at >= input.bytes.size()) return 0;
  const std::size_t count = std::min(static_cast<std::size_t>(length), input.bytes.size() - input.at);
  std::memcpy(out, input.bytes.data() + input.at, count);
  input.at += count;
  return static_cast<tmsize_t>(count);
}

toff_t TiffFile::seek(thandle_t handle, toff_t offset, int whence) {
  Input& input = *static_cast<Input*>(handle);
  const std::size_t from = whence == SEEK_CUR ? input.at : whence == SEEK_END ? input.bytes.size() : 0;
  return input.at = from + offset;
}

int TiffFile::map(thandle_t handle, void** base, toff_t* size) {
  const Input& input = *static_cast<Input*>(handle);
  *base = const_cast<std::byte*>(input.bytes.data());  // libtiff only reads files opened with "r"
  *size = input.bytes.size();
  return 1;
}

int TiffFile::on_error(TIFF*, void* self, const char*, const char* format, std::va_list arguments) {
  auto& error = static_cast<TiffFile*>(self)->error_;
  if (error[0] == 0) std::vsnprintf(error.data(), error.size(), format, arguments);
  return 1;
}

}  // namespace bale::image_detail
