// Byte spans: the type of all raw data in bale's interfaces.
//
// Ownership: a `Bytes` borrows its memory. The function that returns one says how long the memory lives.
// Threads: plain values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "bale/formats/base/cxx20.hpp"

namespace bale {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// The same memory as bytes. Borrows from `text`.
inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

/// The same memory as text, in no particular encoding. Borrows from `bytes`.
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The same memory as unsigned chars. Borrows from `bytes`.
inline const unsigned char* as_uchar(Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

/// Loads a little-endian number or a trivially copyable struct from any alignment. Precondition: `at` points to at
/// least sizeof(T) readable bytes.
template <typename T>
T load_at(const std::byte* at) {
  static_assert(std::endian::native == std::endian::little, "files are read in place on little-endian machines");
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace bale
