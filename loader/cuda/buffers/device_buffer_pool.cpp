#include "bale/loader/cuda/buffers/device_buffer_pool.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/base/error.hpp"

namespace bale::cuda_detail {
namespace {

constexpr std::size_t k_alignment_bytes = 256;  // the alignment of cuMemAlloc

}  // namespace

DeviceBufferPool::DeviceBufferPool(std::shared_ptr<const Context> context, std::uint32_t num_buffers,
                                   std::size_t bytes_each)
    : context_(std::move(context)),
      num_standing_(num_buffers),
      stride_((bytes_each + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes),
      standing_(context_, stride_ * num_buffers),
      next_number_(num_buffers) {
  for (std::uint32_t buffer = 0; buffer < num_buffers; ++buffer) {
    free_.push_back(buffer);
    buffers_[buffer].address = standing_.address() + buffer * stride_;
  }
}

DeviceBufferPool::~DeviceBufferPool() {
  for (const auto& [number, buffer] : buffers_) {
    for (const auto& use : buffer.last_uses) {
      try {
        use->synchronize();
      } catch (const Error&) {  // the device or its driver is gone; nothing is running on it
        return;
      }
    }
  }
}

std::uint32_t DeviceBufferPool::take() {
  std::vector<Buffer> surplus;  // freed after the lock is released
  {
    const std::lock_guard lock(mutex_);
    free_captured();
    if (!free_.empty()) {
      surplus = remove_surplus();
      const std::uint32_t buffer = free_.front();
      free_.pop_front();
      return buffer;
    }
  }
  return grow();
}

/// Allocates without the lock, so that batches can be given back in the meantime.
std::uint32_t DeviceBufferPool::grow() {
  auto own = std::make_unique<const DeviceMemory>(context_, stride_);
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = next_number_++;
  Buffer& added = buffers_[number];
  added.address = own->address();
  added.own = std::move(own);
  return number;
}

/// Frees the buffers whose streams are no longer being captured. Requires mutex_.
void DeviceBufferPool::free_captured() {
  std::erase_if(captured_, [&](const Captured& captured) {
    for (const StreamHandle stream : captured.streams) {
      if (is_captured(*context_, stream)) return false;
    }
    Events& uses = buffers_.at(captured.buffer).last_uses;
    for (const StreamHandle stream : captured.streams) uses.push_back(std::make_shared<const Event>(context_, stream));
    free_.push_back(captured.buffer);
    return true;
  });
}

/// Removes free buffers beyond the initial number, if no work uses them anymore. Requires mutex_.
std::vector<DeviceBufferPool::Buffer> DeviceBufferPool::remove_surplus() {
  const auto is_unused = [&](std::uint32_t number) {
    const Buffer& buffer = buffers_.at(number);
    return buffer.own &&
           std::all_of(buffer.last_uses.begin(), buffer.last_uses.end(), [](const auto& use) { return use->done(); });
  };
  std::vector<Buffer> surplus;
  for (auto number = free_.begin(); number != free_.end() && free_.size() > num_standing_;) {
    if (!is_unused(*number)) {
      ++number;
      continue;
    }
    surplus.push_back(std::move(buffers_.at(*number)));
    buffers_.erase(*number);
    number = free_.erase(number);
  }
  return surplus;
}

void DeviceBufferPool::wait_on(std::uint32_t buffer, StreamHandle stream) const {
  Events uses;
  {
    const std::lock_guard lock(mutex_);
    uses = buffers_.at(buffer).last_uses;
  }
  for (const auto& use : uses) use->wait_on(stream);
}

void DeviceBufferPool::put_back(std::uint32_t buffer) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_front(buffer);
}

void DeviceBufferPool::give_back(std::uint32_t buffer, std::span<const StreamHandle> last_users) noexcept {
  Events uses;
  Captured captured{.buffer = buffer};
  try {
    for (const StreamHandle stream : last_users) {
      if (is_captured(*context_, stream)) {
        captured.streams.push_back(stream);
      } else {
        uses.push_back(std::make_shared<const Event>(context_, stream));
      }
    }
  } catch (...) {
    // Without events, wait for the whole device. If that fails too, the device no longer works.
    uses.clear();
    try {
      context_->synchronize();
    } catch (...) {
    }
  }
  const std::lock_guard lock(mutex_);
  buffers_.at(buffer).last_uses = std::move(uses);
  if (captured.streams.empty()) {
    free_.push_back(buffer);
  } else {
    captured_.push_back(std::move(captured));
  }
}

DevicePointer DeviceBufferPool::address(std::uint32_t buffer) const {
  const std::lock_guard lock(mutex_);
  return buffers_.at(buffer).address;
}

}  // namespace bale::cuda_detail
