#include "bale/loader/cuda/device_ring.hpp"

#include <utility>

#include "bale/formats/core/error.hpp"

namespace bale::cuda_detail {
namespace {

constexpr std::size_t k_alignment_bytes = 256;  // what cuMemAlloc gives

}  // namespace

DeviceRing::DeviceRing(std::shared_ptr<const Context> context, std::uint32_t num_buffers, std::size_t bytes_each)
    : context_(std::move(context)),
      stride_((bytes_each + k_alignment_bytes - 1) / k_alignment_bytes * k_alignment_bytes),
      memory_(context_, stride_ * num_buffers),
      last_uses_(num_buffers) {
  for (std::uint32_t buffer = 0; buffer < num_buffers; ++buffer) free_.push_back(buffer);
}

DeviceRing::~DeviceRing() {
  for (const Events& uses : last_uses_) {
    for (const auto& use : uses) {
      try {
        use->synchronize();
      } catch (const Error&) {  // the device, or its driver, is gone: nothing is running on it
        return;
      }
    }
  }
}

std::uint32_t DeviceRing::take() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t buffer = free_.front();
  free_.pop_front();
  return buffer;
}

void DeviceRing::hold_up(std::uint32_t buffer, StreamHandle stream) const {
  Events uses;
  {
    const std::lock_guard lock(mutex_);
    uses = last_uses_[buffer];
  }
  for (const auto& use : uses) use->hold_up(stream);
}

void DeviceRing::put_back(std::uint32_t buffer) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_front(buffer);
}

void DeviceRing::give_back(std::uint32_t buffer, std::span<const StreamHandle> last_users) noexcept {
  Events uses;
  try {
    for (const StreamHandle stream : last_users) uses.push_back(std::make_shared<const Event>(context_, stream));
  } catch (...) {
    // Without events the whole device is waited for. Where that fails too, it has stopped working.
    uses.clear();
    try {
      context_->synchronize();
    } catch (...) {
    }
  }
  const std::lock_guard lock(mutex_);
  last_uses_[buffer] = std::move(uses);
  free_.push_back(buffer);
}

}  // namespace bale::cuda_detail
