#include "bale/loader/cuda/converter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/loader/cuda/convert_args.hpp"
#include "bale/loader/transform/convert.hpp"
#include "bale/loader/transform/dtype_name.hpp"
#include "bale/loader/transform/list/check.hpp"

namespace bale::cuda_detail {

#if BALE_HAS_CUDA_KERNELS
extern const char* const k_convert_kernels_ptx;
extern const char* const k_mix_kernels_ptx;
#else
constexpr const char* k_convert_kernels_ptx = nullptr;
constexpr const char* k_mix_kernels_ptx = nullptr;
#endif

namespace {

constexpr std::uint32_t k_groups_a_thread = 8;  // makes the cost of loading the table negligible
constexpr std::uint32_t k_max_grid_y = 65535;
constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 31;  // per image: kernels count in 32 bits
constexpr std::size_t k_values = 3 * 256;

std::string kernel_name(const Transform& delivered, bool mixes, std::uint32_t pixels) {
  const char* const layout = delivered.layout == PixelLayout::nhwc ? "nhwc" : "nchw";
  if (mixes) return fmt::format("bale_mix_{}_{}_{}", dtype_name(delivered.dtype), layout, pixels);
  return fmt::format("bale_convert_{}_{}_{}", 8 * dtype_bytes(delivered.dtype), layout, pixels);
}

}  // namespace

bool Converter::is_available() { return k_convert_kernels_ptx != nullptr; }

bool Converter::can_make(const Transform& transform) {
  // A list that erases converted pixels is converted by the workers, and so are images that are not RGB.
  const bool erases = transform.list && transform_detail::erases_converted(*transform.list);
  return transform.has_fixed_shape() && transform.dtype != DType::uint8 && transform.channels() == 3 && !erases &&
         std::uint64_t{transform.width} * transform.height < k_max_pixels;
}

Transform Converter::of_workers(Transform delivered) {
  delivered.dtype = DType::uint8;
  delivered.layout = PixelLayout::nhwc;
  delivered.normalize = false;
  return delivered;
}

Converter::Converter(std::shared_ptr<const Context> context, const Transform& delivered, bool mixes)
    : context_(std::move(context)),
      delivered_(delivered),
      module_(context_, mixes ? k_mix_kernels_ptx : k_convert_kernels_ptx),
      pixels_a_thread_(delivered.width % 4 == 0 ? 4 : 1),
      table_(context_, k_values * sizeof(float)) {
  kernel_ = module_.function(kernel_name(delivered_, mixes, pixels_a_thread_));
  load_table(mixes);
}

void Converter::load_table(bool mixes) {
  Transform transform = delivered_;
  if (mixes) transform.dtype = DType::float32;  // rounded after mixing
  const std::vector<std::byte> table = transform_detail::conversion_table(transform);
  const PinnedMemory staging(context_, table.size());
  std::memcpy(staging.data(), table.data(), table.size());
  const Stream stream(context_);
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuMemcpyHtoDAsync_v2(table_.address(), staging.data(), table.size(), stream.handle()),
               "copy to the device");
  stream.synchronize();
}

void Converter::run(StreamHandle stream, DevicePointer in, DevicePointer rows, DevicePointer out,
                    std::uint32_t num_images) const {
  ConvertArgs args{.in = reinterpret_cast<const std::uint8_t*>(in),
                   .rows = reinterpret_cast<const ConvertRow*>(rows),
                   .table = reinterpret_cast<const void*>(table_.address()),
                   .out = reinterpret_cast<void*>(out),
                   .width = delivered_.width,
                   .height = delivered_.height,
                   .num_images = num_images};
  const std::uint32_t num_groups = delivered_.width / pixels_a_thread_ * delivered_.height;
  const std::uint32_t groups_a_block = k_block_threads * k_groups_a_thread;
  const std::uint32_t grid_x = (num_groups - 1) / groups_a_block + 1;
  void* parameters[] = {&args};
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuLaunchKernel(kernel_, grid_x, std::min(num_images, k_max_grid_y), 1, k_block_threads, 1, 1, 0,
                                     stream, parameters, nullptr),
               "start a kernel");
}

}  // namespace bale::cuda_detail
