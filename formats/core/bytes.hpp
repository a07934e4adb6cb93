// Byte spans: how every room names raw data.
//
// Ownership: a `Bytes` borrows; whoever hands one out says what it must outlive.
// Threads: plain values, safe to copy between threads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace bale {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// The same memory as bytes; borrows from `text`.
inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

/// The same memory as text (no encoding implied); borrows from `bytes`.
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

inline const unsigned char* as_uchar(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

/// A little-endian number or plain struct at any alignment; the caller has checked that it is all there.
template <typename T>
T load_at(const std::byte* at) {
  static_assert(std::endian::native == std::endian::little, "files are read in place on little-endian machines");
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace bale
