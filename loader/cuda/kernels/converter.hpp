// Who converts batches of 8-bit pixels to floats, bit for bit as the workers would: Converter on the device,
// HostConverter in this process, for devices that refuse the kernels, or nobody.
//
// Immutable; safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/loader/cuda/driver/context.hpp"
#include "bale/loader/cuda/kernels/host_kernels.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::cuda_detail {

// Which kernel makes the batches of a transform, and from which values. The same on a device and on the host.

inline constexpr std::uint32_t k_max_grid_y = 65535;  // of any device

/// Whether there is a kernel for the output of `transform`: floats of a fixed shape.
bool kernels_can_make(const Transform& transform);

/// The transform of the workers if a kernel converts: the same images with 8 bits, H x W x C.
Transform before_kernels(Transform delivered);

struct KernelChoice {
  /// `mixes`: rows may have partners, shares and boxes. Precondition: kernels_can_make(delivered).
  KernelChoice(const Transform& delivered, bool mixes);

  std::string name;
  std::uint32_t pixels_a_thread;
  std::vector<std::byte> table;  // ConvertArgs::table

  struct Grid {
    std::uint32_t x = 1;
    std::uint32_t y = 1;
  };
  /// The blocks, of k_block_threads, for a batch.
  Grid grid(const ConvertArgs& args) const;
};

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

class HostConverter {
 public:
  /// As of Converter::load().
  HostConverter(const Transform& delivered, bool mixes);

  /// `in`, `rows` and `out`: host memory for num_images images. Returns when it is done.
  void run(Bytes in, const ConvertRow* rows, std::byte* out, std::uint32_t num_images) const;

 private:
  KernelChoice choice_;
  std::uint32_t width_;
  std::uint32_t height_;
  HostKernel kernel_;
};

/// Whether the images are mirrored or mixed after the copy.
bool needs_kernels(const CudaOptions& cuda);

/// At most one of the converters is set. Without one, workers make the pixels as they are delivered.
struct PixelKernels {
  std::unique_ptr<const Converter> on_device{};
  std::unique_ptr<const HostConverter> on_host{};
  std::string refusal{};  // why the device does not run them; empty unless it refused

  /// The device if it takes the kernels. Otherwise workers convert, or this process if images are also to be mirrored
  /// or mixed, which workers do not do. Throws the driver's errors, but not its refusal.
  static PixelKernels choose(const std::shared_ptr<const Context>& context, const Transform& delivered,
                             const CudaOptions& cuda);

  bool convert() const { return on_device != nullptr || on_host != nullptr; }
};

}  // namespace bale::cuda_detail
