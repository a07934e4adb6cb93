// FileWindow: reads a file's headers through a small window, so that headers close together cost one read.
//
// For one thread. The file must outlive it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"

namespace bale {

class FileWindow {
 public:
  static constexpr std::size_t k_bytes = 4096;

  explicit FileWindow(const File& file) : file_(file), file_bytes_(file.size()) {}

  const File& file() const { return file_; }
  std::uint64_t file_bytes() const { return file_bytes_; }

  /// The file's bytes from `offset` on, at least `wanted` of them unless the file ends earlier. Valid until the next
  /// call. Precondition: wanted <= k_bytes.
  Bytes from(std::uint64_t offset, std::size_t wanted = 1) {
    if (offset < at_ || offset - at_ >= filled_ || filled_ - (offset - at_) < wanted) {
      at_ = offset;
      filled_ = file_.read_some(offset, buffer_);
    }
    return Bytes(buffer_).subspan(static_cast<std::size_t>(offset - at_),
                                  filled_ - static_cast<std::size_t>(offset - at_));
  }

 private:
  const File& file_;
  std::uint64_t file_bytes_;
  std::array<std::byte, k_bytes> buffer_;
  std::uint64_t at_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace bale
