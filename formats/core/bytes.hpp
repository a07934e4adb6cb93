// Byte spans: how every room names raw data.
//
// Ownership: a `Bytes` borrows; whoever hands one out says what it must outlive.
// Threads: plain values, safe to copy between threads.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace bale
