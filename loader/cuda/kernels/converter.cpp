#include "bale/loader/cuda/kernels/converter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/loader/transform/list/check.hpp"
#include "bale/loader/transform/members/dtype_name.hpp"
#include "bale/loader/transform/pixels/convert.hpp"

namespace bale::cuda_detail {
namespace {

constexpr std::uint32_t k_groups_a_thread = 8;                  // makes the cost of loading the table negligible
constexpr std::uint64_t k_max_pixels = std::uint64_t{1} << 31;  // per image: kernels count in 32 bits

std::string kernel_name(const Transform& delivered, bool mixes, std::uint32_t pixels) {
  const char* const layout = delivered.layout == PixelLayout::nhwc ? "nhwc" : "nchw";
  if (mixes) return fmt::format("bale_mix_{}_{}_{}", dtype_name(delivered.dtype), layout, pixels);
  return fmt::format("bale_convert_{}_{}_{}", 8 * dtype_bytes(delivered.dtype), layout, pixels);
}

std::vector<std::byte> table_of(Transform delivered, bool mixes) {
  if (mixes) delivered.dtype = DType::float32;  // rounded after mixing
  return transform_detail::conversion_table(delivered);
}

}  // namespace

bool kernels_can_make(const Transform& transform) {
  // A list that erases converted pixels is converted by the workers, and so are images that are not RGB.
  const bool erases = transform_detail::erases_converted(transform.list->nodes);
  return transform.has_fixed_shape() && transform.dtype != DType::uint8 && transform.channels() == 3 && !erases &&
         std::uint64_t{transform.width} * transform.height < k_max_pixels;
}

Transform before_kernels(Transform delivered) {
  delivered.dtype = DType::uint8;
  delivered.layout = PixelLayout::nhwc;
  delivered.normalize = false;
  return delivered;
}

KernelChoice::KernelChoice(const Transform& delivered, bool mixes)
    : pixels_a_thread(delivered.width % 4 == 0 ? 4 : 1), table(table_of(delivered, mixes)) {
  name = kernel_name(delivered, mixes, pixels_a_thread);
}

KernelChoice::Grid KernelChoice::grid(const ConvertArgs& args) const {
  const std::uint32_t num_groups = args.width / pixels_a_thread * args.height;
  const std::uint32_t groups_a_block = k_block_threads * k_groups_a_thread;
  return {.x = (num_groups - 1) / groups_a_block + 1, .y = std::min(args.num_images, k_max_grid_y)};
}

extern const char* const k_convert_kernels_ptx;
extern const char* const k_mix_kernels_ptx;

std::unique_ptr<const Converter> Converter::load(std::shared_ptr<const Context> context, const Transform& delivered,
                                                 bool mixes, std::string& refusal) {
  KernelChoice choice(delivered, mixes);
  auto module = Module::load(context, mixes ? k_mix_kernels_ptx : k_convert_kernels_ptx, {choice.name}, refusal);
  if (!module) return nullptr;
  return std::unique_ptr<const Converter>(
      new Converter(std::move(context), delivered, std::move(choice), std::move(module)));
}

Converter::Converter(std::shared_ptr<const Context> context, const Transform& delivered, KernelChoice choice,
                     std::unique_ptr<const Module> module)
    : context_(std::move(context)),
      choice_(std::move(choice)),
      width_(delivered.width),
      height_(delivered.height),
      module_(std::move(module)),
      kernel_(module_->function(choice_.name)),
      table_(context_, choice_.table.size()) {
  load_table();
}

void Converter::load_table() {
  const Stream stream(context_);
  const Current current(*context_);
  const Driver& driver = context_->driver();
  const HostMemory staging(context_, choice_.table.size());
  std::memcpy(staging.data(), choice_.table.data(), choice_.table.size());
  driver.check(driver.cuMemcpyHtoDAsync_v2(table_.address(), staging.data(), choice_.table.size(), stream.handle()),
               "copy to the device");
  stream.synchronize();
}

void Converter::run(StreamHandle stream, DevicePointer in, DevicePointer rows, DevicePointer out,
                    std::uint32_t num_images) const {
  ConvertArgs args{.in = reinterpret_cast<const std::uint8_t*>(in),
                   .rows = reinterpret_cast<const ConvertRow*>(rows),
                   .table = reinterpret_cast<const void*>(table_.address()),
                   .out = reinterpret_cast<void*>(out),
                   .width = width_,
                   .height = height_,
                   .num_images = num_images};
  const auto [grid_x, grid_y] = choice_.grid(args);
  void* parameters[] = {&args};
  const Current current(*context_);
  const Driver& driver = context_->driver();
  driver.check(driver.cuLaunchKernel(kernel_, grid_x, grid_y, 1, k_block_threads, 1, 1, 0, stream, parameters, nullptr),
               "start a kernel");
}

HostConverter::HostConverter(const Transform& delivered, bool mixes)
    : choice_(delivered, mixes),
      width_(delivered.width),
      height_(delivered.height),
      kernel_(host_kernel_named(choice_.name)) {}

void HostConverter::run(Bytes in, const ConvertRow* rows, std::byte* out, std::uint32_t num_images) const {
  const ConvertArgs args{.in = reinterpret_cast<const std::uint8_t*>(in.data()),
                         .rows = rows,
                         .table = choice_.table.data(),
                         .out = out,
                         .width = width_,
                         .height = height_,
                         .num_images = num_images};
  kernel_.run(args, {});
}

bool needs_kernels(const CudaOptions& cuda) { return cuda.flip_probability > 0 || cuda.mix.active(); }

PixelKernels PixelKernels::choose(const std::shared_ptr<const Context>& context, const Transform& delivered,
                                  const CudaOptions& cuda) {
  PixelKernels chosen;
  if (!kernels_can_make(delivered)) return chosen;
  const bool mixes = cuda.mix.active();
  if (cuda.convert) chosen.on_device = Converter::load(context, delivered, mixes, chosen.refusal);
  if (!chosen.on_device && needs_kernels(cuda))
    chosen.on_host = std::make_unique<const HostConverter>(delivered, mixes);
  return chosen;
}

}  // namespace bale::cuda_detail
