#include "bale/loader/cuda/kernels/host_kernels.hpp"

#include "bale/loader/cuda/kernels/convert_kernel.hpp"
#include "bale/loader/cuda/kernels/resize_kernel.hpp"

namespace bale::cuda_detail {
namespace {

template <int k_pixels, typename Work>
void run_grid(const ConvertArgs& args, const HostGrid& grid, const Work& work) {
  for (std::uint32_t y = 0; y < grid.y; ++y) {
    for (std::uint32_t thread = 0; thread < grid.x * grid.block; ++thread) {
      for_each_group<k_pixels>(args, thread, grid.x * grid.block, y, grid.y, work);
    }
  }
}

template <int k_pixels, bool k_planar, typename Value>
void run_convert(const ConvertArgs& args, const HostGrid& grid) {
  run_grid<k_pixels>(args, grid, [&](std::uint32_t image, std::uint32_t x, std::uint32_t y) {
    convert_pixels<k_pixels, k_planar>(args, static_cast<const Value*>(args.table), image, x, y);
  });
}

template <int k_pixels, bool k_planar, MixedType k_type>
void run_mix(const ConvertArgs& args, const HostGrid& grid) {
  run_grid<k_pixels>(args, grid, [&](std::uint32_t image, std::uint32_t x, std::uint32_t y) {
    mix_pixels<k_pixels, k_planar, k_type>(args, static_cast<const float*>(args.table), image, x, y);
  });
}

template <int k_pixels, bool k_planar>
HostKernel kernel_of_kind(const std::string& kind) {
  using enum MixedType;
  if (kind == "convert_16") return {2, 2 * 768, run_convert<k_pixels, k_planar, std::uint16_t>};
  if (kind == "convert_32") return {4, 4 * 768, run_convert<k_pixels, k_planar, std::uint32_t>};
  if (kind == "mix_float16") return {2, 4 * 768, run_mix<k_pixels, k_planar, float16>};
  if (kind == "mix_bfloat16") return {2, 4 * 768, run_mix<k_pixels, k_planar, bfloat16>};
  if (kind == "mix_float32") return {4, 4 * 768, run_mix<k_pixels, k_planar, float32>};
  return {};
}

template <typename Work>
void run_items(const ResizeArgs& args, std::uint32_t num_items, const HostGrid& grid, const Work& work) {
  for (std::uint32_t y = 0; y < grid.y; ++y) {
    for (std::uint32_t thread = 0; thread < grid.x * grid.block; ++thread) {
      for_each_item(args.num_images, num_items, thread, grid.x * grid.block, y, grid.y, work);
    }
  }
}

}  // namespace

HostKernel host_kernel_named(const std::string& name) {
  if (!name.starts_with("bale_") || name.size() < 13) return {};
  const std::string kind = name.substr(5, name.size() - 12);
  const std::string tail = name.substr(name.size() - 7);
  if (tail == "_nhwc_4") return kernel_of_kind<4, false>(kind);
  if (tail == "_nhwc_1") return kernel_of_kind<1, false>(kind);
  if (tail == "_nchw_4") return kernel_of_kind<4, true>(kind);
  if (tail == "_nchw_1") return kernel_of_kind<1, true>(kind);
  return {};
}

void run_resize_weights(const ResizeArgs& args, const HostGrid& grid) {
  run_items(args, args.width + args.height, grid,
            [&](std::uint32_t image, std::uint32_t entry) { weigh_entry(args, image, entry); });
}

void run_resize(const ResizeArgs& args, const HostGrid& grid) {
  run_items(args, args.width * args.height, grid,
            [&](std::uint32_t image, std::uint32_t pixel) { resize_pixel(args, image, pixel); });
}

}  // namespace bale::cuda_detail
