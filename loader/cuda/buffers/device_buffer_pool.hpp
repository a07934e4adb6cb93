// DeviceBufferPool: reusable device buffers of equal size.
//
// The host never waits for the last use of a buffer: the next user makes its own stream wait for it, on the device. So
// a buffer can be taken while work that reads it is still queued. Any thread may take and give back buffers.
//
// The initial buffers are one allocation. When all of them are taken, take() allocates more buffers one by one, as far
// as the device has memory. A later take() frees them when the pool has more free buffers than initially and their last
// uses are over. Freeing device memory may wait for the device, so give_back() never does it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/cuda/driver/context.hpp"

namespace bale::cuda_detail {

class DeviceBufferPool {
 public:
  /// Throws `io` if the device does not have enough memory.
  DeviceBufferPool(std::shared_ptr<const Context> context, std::uint32_t num_buffers, std::size_t bytes_each);
  /// All buffers must have been given back. Waits for their last uses.
  ~DeviceBufferPool();
  DeviceBufferPool(const DeviceBufferPool&) = delete;
  DeviceBufferPool& operator=(const DeviceBufferPool&) = delete;

  /// Takes a free buffer. Throws `io` if all are taken and the device has no memory for another one.
  std::uint32_t take();
  /// Work that is enqueued on `stream` from now on waits for the last uses of a taken buffer.
  void wait_on(std::uint32_t buffer, StreamHandle stream) const;
  /// Returns a buffer that was taken but not used. Its last uses do not change.
  void put_back(std::uint32_t buffer) noexcept;
  /// Returns a buffer that was used. Its last uses are the work that `last_users` have enqueued so far. While one of
  /// them is being captured into a graph, its work cannot be waited for: the buffer stays taken until the capture is
  /// over.
  void give_back(std::uint32_t buffer, std::span<const StreamHandle> last_users) noexcept;

  DevicePointer address(std::uint32_t buffer) const;

 private:
  using Events = std::vector<std::shared_ptr<const Event>>;
  struct Buffer {
    DevicePointer address = 0;
    Events last_uses{};
    std::unique_ptr<const DeviceMemory> own{};  // nullptr: part of `standing_`
  };

  /// A buffer that was given back while streams that use it were being captured.
  struct Captured {
    std::uint32_t buffer = 0;
    std::vector<StreamHandle> streams{};
  };

  std::uint32_t grow();
  void free_captured();
  std::vector<Buffer> remove_surplus();

  std::shared_ptr<const Context> context_;
  std::uint32_t num_standing_;
  std::size_t stride_;
  DeviceMemory standing_;
  mutable std::mutex mutex_;
  std::deque<std::uint32_t> free_;  // longest free first
  std::vector<Captured> captured_;
  std::map<std::uint32_t, Buffer> buffers_;
  std::uint32_t next_number_;
};

// TakenBuffer: a buffer that is taken out of a DeviceBufferPool for a scope.

/// A buffer that returns to its pool unless keep() is called.
class TakenBuffer {
 public:
  TakenBuffer(DeviceBufferPool& pool, std::uint32_t num_held) : pool_(pool), number_(take(pool, num_held)) {}
  ~TakenBuffer() {
    if (!kept_) pool_.put_back(number_);
  }
  TakenBuffer(const TakenBuffer&) = delete;
  TakenBuffer& operator=(const TakenBuffer&) = delete;

  std::uint32_t number() const { return number_; }
  void keep() { kept_ = true; }

 private:
  static std::uint32_t take(DeviceBufferPool& pool, std::uint32_t num_held) {
    try {
      return pool.take();
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("no memory for another batch on the device, of which the caller holds {}: {}", num_held,
                              error.message()),
                  {.hint = "let go of batches, or copy what you keep of them to ordinary memory"});
    }
  }

  DeviceBufferPool& pool_;
  std::uint32_t number_;
  bool kept_ = false;
};

}  // namespace bale::cuda_detail
