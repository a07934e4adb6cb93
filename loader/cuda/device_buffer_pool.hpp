// DeviceBufferPool: equal buffers on the device that go round.
//
// Nothing on the host waits for a buffer's last use: whoever takes one has its own stream wait for that, on the device.
// So a buffer can be taken while the work that reads it is still queued. Any thread may take and give back.
//
// The standing buffers are one piece of memory, taken once. When all of them are taken, the pool grows by buffers of
// their own, as far as the device has memory. take() frees those again when the pool has more free buffers than it
// began with and their last uses are over; freeing device memory may wait for the device, so give_back() never does it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bale/loader/cuda/context.hpp"

namespace bale::cuda_detail {

class DeviceBufferPool {
 public:
  /// Throws `io` if the device does not have enough memory.
  DeviceBufferPool(std::shared_ptr<const Context> context, std::uint32_t num_buffers, std::size_t bytes_each);
  /// All buffers have been given back. Waits for their last uses.
  ~DeviceBufferPool();
  DeviceBufferPool(const DeviceBufferPool&) = delete;
  DeviceBufferPool& operator=(const DeviceBufferPool&) = delete;

  /// A buffer that nobody has. Throws `io` if all are taken and the device has no memory for another one.
  std::uint32_t take();
  /// What `stream` is given from now on waits for the last uses of the buffer that was taken.
  void wait_on(std::uint32_t buffer, StreamHandle stream) const;
  /// Ends a taking that came to nothing: the buffer's last uses are what they were.
  void put_back(std::uint32_t buffer) noexcept;
  /// Done with; what the streams were given so far are its last uses.
  void give_back(std::uint32_t buffer, std::span<const StreamHandle> last_users) noexcept;

  DevicePointer address(std::uint32_t buffer) const;

 private:
  using Events = std::vector<std::shared_ptr<const Event>>;
  struct Buffer {
    DevicePointer address = 0;
    Events last_uses{};
    std::unique_ptr<const DeviceMemory> own{};  // none: part of `standing_`
  };

  std::uint32_t grow();
  std::vector<Buffer> remove_surplus();

  std::shared_ptr<const Context> context_;
  std::uint32_t num_standing_;
  std::size_t stride_;
  DeviceMemory standing_;
  mutable std::mutex mutex_;
  std::deque<std::uint32_t> free_;  // longest free first
  std::map<std::uint32_t, Buffer> buffers_;
  std::uint32_t next_number_;
};

}  // namespace bale::cuda_detail
