// Converter: turns batches of 8-bit pixels into floats on the device, with the bits that the workers would have made.
//
// Immutable; any thread.
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
  /// Whether the kernels can make what `transform` delivers: floats of a fixed shape.
  static bool can_make(const Transform& transform);
  /// What workers deliver for the kernels to convert: the same images, 8 bits, H x W x C.
  static Transform of_workers(Transform delivered);

  /// `mixes`: rows may name partners, shares and boxes. Precondition: is_available() and can_make(delivered).
  Converter(std::shared_ptr<const Context> context, const Transform& delivered, bool mixes);

  /// Gives `stream` the work. `in`: num_images of of_workers(); `rows`: as many ConvertRow; `out`: as many of
  /// delivered.image_bytes(). All of them lie on the device.
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
