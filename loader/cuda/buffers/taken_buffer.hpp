// TakenBuffer: a buffer that is taken out of a DeviceBufferPool for a scope.
#pragma once

#include <cstdint>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/cuda/buffers/device_buffer_pool.hpp"

namespace bale::cuda_detail {

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
