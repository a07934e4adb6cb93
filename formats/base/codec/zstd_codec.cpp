#include "bale/formats/base/codec/zstd_codec.hpp"

#include <zstd_errors.h>

#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include "bale/formats/base/codec/compression.hpp"
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

namespace {

constexpr std::uint32_t k_magic = 0xFD2FB528;
// The frame header descriptor: bits 7 and 6 are the width of the content size, 5 is single segment, 2 is checksum.
constexpr unsigned k_two_byte_size = 1U << 6;
constexpr unsigned k_four_byte_size = 2U << 6;
constexpr unsigned k_single_segment = 1U << 5;
constexpr unsigned k_has_checksum = 1U << 2;
constexpr std::size_t k_two_byte_offset = 256;  // a size of two bytes is stored less this
constexpr std::uint32_t k_last_block = 1;       // of the type raw, 0, with the size from bit 3 on
constexpr unsigned k_block_size_shift = 3;

}  // namespace

RawFrameHead raw_frame_head(std::size_t content_bytes) {
  RawFrameHead head;
  const auto put = [&](std::size_t value, int width) {
    for (int i = 0; i < width; ++i, value >>= 8) head.memory[head.size++] = static_cast<std::byte>(value & 0xFF);
  };
  const bool is_short = content_bytes - k_two_byte_offset <= 0xFFFF;
  put(k_magic, 4);
  put((is_short ? k_two_byte_size : k_four_byte_size) | k_single_segment | k_has_checksum, 1);
  put(is_short ? content_bytes - k_two_byte_offset : content_bytes, is_short ? 2 : 4);
  put(content_bytes << k_block_size_shift | k_last_block, 3);
  return head;
}

std::array<std::byte, k_raw_frame_end_bytes> raw_frame_end(Bytes content) {
  std::uint64_t hash = XXH64(content.data(), content.size(), 0);
  std::array<std::byte, k_raw_frame_end_bytes> end;
  for (std::byte& byte : end) {
    byte = static_cast<std::byte>(hash & 0xFF);
    hash >>= 8;
  }
  return end;
}

}  // namespace bale
