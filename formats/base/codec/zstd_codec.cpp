#include "bale/formats/base/zstd_codec.hpp"

#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

/// An RLE block takes four bytes (a header of three and one to repeat) for at most 128 KiB: RFC 8878, section 3.1.1.2.
constexpr std::uint64_t k_most_per_byte = (std::uint64_t{128} << 10) / 4;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

void zstd_compress(Bytes input, int level, std::vector<std::byte>& out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context{ZSTD_createCCtx()};
  out.resize(ZSTD_compressBound(input.size()));
  const std::size_t size = ZSTD_compressCCtx(context.get(), out.data(), out.size(), input.data(), input.size(), level);
  if (ZSTD_isError(size) != 0U) {
    throw Error(ErrorCode::invalid_argument, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  }
  out.resize(size);
}

std::uint64_t zstd_content_size(Bytes frame, std::uint64_t limit) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR) throw Error(ErrorCode::damaged, "not a zstd frame");
  if (size == ZSTD_CONTENTSIZE_UNKNOWN) {
    throw Error(ErrorCode::unsupported, "the zstd frame does not state its size",
                {.hint = "compress it from a file or from memory, not from a stream"});
  }
  if (size / k_most_per_byte > frame.size()) {
    throw Error(ErrorCode::damaged,
                fmt::format("the zstd frame states {} bytes, which its {} bytes cannot hold", size, frame.size()));
  }
  if (size > limit) {
    throw Error(ErrorCode::damaged,
                fmt::format("the zstd frame states {} bytes, more than the {} that are permitted", size, limit));
  }
  return size;
}

void fail_zstd(std::size_t error, ErrorContext context) {
  switch (ZSTD_getErrorCode(error)) {
    case ZSTD_error_memory_allocation:
      throw std::bad_alloc();
    case ZSTD_error_version_unsupported:
    case ZSTD_error_dictionary_wrong:
      context.hint = "compress it again without a dictionary, by zstd 1.0 or later";
      throw Error(ErrorCode::unsupported, fmt::format("zstd: {}", ZSTD_getErrorName(error)), std::move(context));
    case ZSTD_error_frameParameter_windowTooLarge:
      context.hint = "compress it again with `zstd --long=31` at most";
      throw Error(ErrorCode::unsupported, "a zstd frame with a window of more than 2 GiB", std::move(context));
    default:
      throw Error(ErrorCode::damaged, fmt::format("damaged zstd data: {}", ZSTD_getErrorName(error)),
                  std::move(context));
  }
}

void zstd_decompress(Bytes frame, MutableBytes out) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
  const std::size_t size = ZSTD_decompressDCtx(context.get(), out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0U) fail_zstd(size);
  if (size != out.size()) throw Error(ErrorCode::damaged, "zstd frame is shorter than it states");
}

}  // namespace bale
