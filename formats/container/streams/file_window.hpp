// ByteWindow: reads headers through a small window, so that headers close together cost one read.
//
// For one thread. The source must outlive it.
#pragma once

#include <array>
#include <cstdint>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/container/streams/stream.hpp"

namespace bale {

/// `Source` is a File or a Stream.
template <typename Source>
class ByteWindow {
 public:
  static constexpr std::size_t k_bytes = 4096;

  explicit ByteWindow(const Source& source) : source_(source), source_bytes_(source.size()) {}

  const Source& file() const { return source_; }
  std::uint64_t file_bytes() const { return source_bytes_; }

  /// The source's bytes from `offset` on, at least `wanted` of them unless it ends earlier. Valid until the next call.
  /// Precondition: wanted <= k_bytes.
  Bytes from(std::uint64_t offset, std::size_t wanted = 1) {
    if (offset < at_ || offset - at_ >= filled_ || filled_ - (offset - at_) < wanted) {
      at_ = offset;
      filled_ = source_.read_some(offset, buffer_);
    }
    return Bytes(buffer_).subspan(static_cast<std::size_t>(offset - at_),
                                  filled_ - static_cast<std::size_t>(offset - at_));
  }

 private:
  const Source& source_;
  std::uint64_t source_bytes_;
  std::array<std::byte, k_bytes> buffer_;
  std::uint64_t at_ = 0;
  std::size_t filled_ = 0;
};

using FileWindow = ByteWindow<File>;
using StreamWindow = ByteWindow<Stream>;

}  // namespace bale
