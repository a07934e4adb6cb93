#include "bale/formats/tar/frame_sink.hpp"

#include <algorithm>

namespace bale::tar {
namespace {

/// A frame ends before the sample that would make it larger than this...
constexpr std::size_t k_frame_bytes = std::size_t{1} << 20;
/// ...and inside a sample only to stay within what a reader keeps in memory.
constexpr std::size_t k_max_frame_bytes = std::size_t{32} << 20;
constexpr std::uint64_t k_writeback_bytes = std::uint64_t{16} << 20;

}  // namespace

void FrameSink::write(std::span<const Bytes> parts) {
  std::size_t total = 0;
  for (const Bytes part : parts) total += part.size();
  if (content_.size() + total > k_frame_bytes) cut();
  for (Bytes part : parts) {
    while (!part.empty()) {
      const std::size_t taken = std::min(part.size(), k_max_frame_bytes - content_.size());
      content_.insert(content_.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(taken));
      part = part.subspan(taken);
      if (content_.size() == k_max_frame_bytes) cut();
    }
  }
}

void FrameSink::finish() {
  cut();
  make_trailer(frame_);
  put(frame_);
  file_.close();
}

void FrameSink::cut() {
  if (content_.empty()) return;
  compress(content_, frame_);
  put(frame_);
  content_.clear();
}

void FrameSink::put(Bytes bytes) {
  file_.write_at(written_, bytes);
  written_ += bytes.size();
  if (written_ - started_ >= k_writeback_bytes) {
    file_.start_writeback(started_, written_ - started_);
    started_ = written_;
  }
}

}  // namespace bale::tar
