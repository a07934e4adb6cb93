// DeviceRing: equal buffers on the device that go round.
//
// Nothing on the host waits for a buffer's last use: whoever takes one has its own stream wait for that, on the device.
// So a buffer can be taken while the work that reads it is still queued. Any thread may take and give back.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bale/loader/cuda/context.hpp"

namespace bale::cuda_detail {

class DeviceRing {
 public:
  /// Throws `io` where the device has not enough memory.
  DeviceRing(std::shared_ptr<const Context> context, std::uint32_t num_buffers, std::size_t bytes_each);
  /// All buffers have been given back. Waits for their last uses.
  ~DeviceRing();
  DeviceRing(const DeviceRing&) = delete;
  DeviceRing& operator=(const DeviceRing&) = delete;

  /// A buffer that nobody has. Precondition: there is one.
  std::uint32_t take();
  /// What `stream` is given from now on waits for the last uses of the buffer that was taken.
  void hold_up(std::uint32_t buffer, StreamHandle stream) const;
  /// Ends a taking that came to nothing: the buffer's last uses are what they were.
  void put_back(std::uint32_t buffer) noexcept;
  /// Done with; what the streams were given so far are its last uses.
  void give_back(std::uint32_t buffer, std::span<const StreamHandle> last_users) noexcept;

  DevicePointer address(std::uint32_t buffer) const { return memory_.address() + buffer * stride_; }

 private:
  using Events = std::vector<std::shared_ptr<const Event>>;

  std::shared_ptr<const Context> context_;
  std::size_t stride_;
  DeviceMemory memory_;
  mutable std::mutex mutex_;
  std::deque<std::uint32_t> free_;  // longest free first
  std::vector<Events> last_uses_;   // of each buffer
};

}  // namespace bale::cuda_detail
