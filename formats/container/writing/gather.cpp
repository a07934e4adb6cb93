#include "bale/formats/container/writing/gather.hpp"

namespace bale {

void Gather::clear() {
  size_ = 0;
  copied_.clear();
  closed_ = 0;
  parts_.clear();
}

void Gather::add(Bytes bytes) {
  size_ += bytes.size();
  if (bytes.size() <= copied_bytes_) {
    copied_.insert(copied_.end(), bytes.begin(), bytes.end());
  } else {
    close_copied();
    parts_.push_back({bytes, 0, 0});
  }
}

void Gather::add_zeros(std::size_t count) {
  size_ += count;
  copied_.resize(copied_.size() + count);
}

std::span<const Bytes> Gather::parts() {
  close_copied();
  spans_.clear();
  for (const Part& part : parts_) {
    spans_.push_back(part.borrowed.empty() ? Bytes(copied_).subspan(part.begin, part.end - part.begin) : part.borrowed);
  }
  return spans_;
}

void Gather::close_copied() {
  if (closed_ < copied_.size()) parts_.push_back({{}, closed_, copied_.size()});
  closed_ = copied_.size();
}

}  // namespace bale
