// Converter: converts batches of 8-bit pixels to floats on the device, bit for bit as the workers would.
//
// Immutable; safe in any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "bale/loader/cuda/context.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::cuda_detail {

class Converter {
 public:
  /// Whether this build has the kernels.
  static bool is_available();
  /// Whether the kernels can make the output of `transform`: floats of a fixed shape.
  static bool can_make(const Transform& transform);
  /// The transform of the workers if the kernels convert: the same images with 8 bits, H x W x C.
  static Transform of_workers(Transform delivered);

  /// `mixes`: rows may have partners, shares and boxes. Precondition: is_available() and can_make(delivered).
  Converter(std::shared_ptr<const Context> context, const Transform& delivered, bool mixes);

  /// Enqueues the conversion on `stream`. `in`, `rows` and `out` are device memory for num_images images: of
  /// of_workers(), of ConvertRow, and of delivered.image_bytes().
  void run(StreamHandle stream, DevicePointer in, DevicePointer rows, DevicePointer out,
           std::uint32_t num_images) const;

 private:
  void load_table(bool mixes);

  std::shared_ptr<const Context> context_;
  Transform delivered_;
  Module module_;
  FunctionHandle kernel_;
  std::uint32_t pixels_a_thread_;
  DeviceMemory table_;
};

}  // namespace bale::cuda_detail
