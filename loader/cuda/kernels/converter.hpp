// Converter: converts batches of 8-bit pixels to floats on the device, bit for bit as the workers would.
//
// Immutable; safe in any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bale/loader/cuda/driver/context.hpp"
#include "bale/loader/cuda/kernels/kernel_choice.hpp"

namespace bale::cuda_detail {

class Converter {
 public:
  /// nullptr if the device or its driver does not take the kernels, with the reason in `refusal`. Throws the driver's
  /// other errors. `mixes`: rows may have partners, shares and boxes. Precondition: kernels_can_make(delivered).
  static std::unique_ptr<const Converter> load(std::shared_ptr<const Context> context, const Transform& delivered,
                                               bool mixes, std::string& refusal);

  /// Enqueues the conversion on `stream`. `in`, `rows` and `out` are device memory for num_images images: of
  /// before_kernels(), of ConvertRow, and of delivered.image_bytes().
  void run(StreamHandle stream, DevicePointer in, DevicePointer rows, DevicePointer out,
           std::uint32_t num_images) const;

 private:
  Converter(std::shared_ptr<const Context> context, const Transform& delivered, KernelChoice choice,
            std::unique_ptr<const Module> module);
  void load_table();

  std::shared_ptr<const Context> context_;
  KernelChoice choice_;
  std::uint32_t width_;
  std::uint32_t height_;
  std::unique_ptr<const Module> module_;
  FunctionHandle kernel_;
  DeviceMemory table_;
};

}  // namespace bale::cuda_detail
