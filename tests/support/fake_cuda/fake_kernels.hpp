// The loader's kernels, run on the host from the same source as on the device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bale/loader/cuda/convert_kernel.hpp"

namespace bale::test::fake_cuda {

struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t block = 1;
};

template <int k_pixels, typename Work>
void run_grid(const cuda_detail::ConvertArgs& args, const Grid& grid, const Work& work) {
  for (std::uint32_t y = 0; y < grid.y; ++y) {
    for (std::uint32_t thread = 0; thread < grid.x * grid.block; ++thread) {
      cuda_detail::for_each_group<k_pixels>(args, thread, grid.x * grid.block, y, grid.y, work);
    }
  }
}

template <int k_pixels, bool k_planar, typename Value>
void run_convert(const cuda_detail::ConvertArgs& args, const Grid& grid) {
  run_grid<k_pixels>(args, grid, [&](std::uint32_t image, std::uint32_t x, std::uint32_t y) {
    cuda_detail::convert_pixels<k_pixels, k_planar>(args, static_cast<const Value*>(args.table), image, x, y);
  });
}

template <int k_pixels, bool k_planar, cuda_detail::MixedType k_type>
void run_mix(const cuda_detail::ConvertArgs& args, const Grid& grid) {
  run_grid<k_pixels>(args, grid, [&](std::uint32_t image, std::uint32_t x, std::uint32_t y) {
    cuda_detail::mix_pixels<k_pixels, k_planar, k_type>(args, static_cast<const float*>(args.table), image, x, y);
  });
}

struct Kernel {
  std::size_t value_bytes = 0;  // of the output
  std::size_t table_bytes = 0;
  std::function<void(const cuda_detail::ConvertArgs&, const Grid&)> run{};
};

template <int k_pixels, bool k_planar>
Kernel kernel_of_kind(const std::string& kind) {
  using enum cuda_detail::MixedType;
  if (kind == "convert_16") return {2, 2 * 768, run_convert<k_pixels, k_planar, std::uint16_t>};
  if (kind == "convert_32") return {4, 4 * 768, run_convert<k_pixels, k_planar, std::uint32_t>};
  if (kind == "mix_float16") return {2, 4 * 768, run_mix<k_pixels, k_planar, float16>};
  if (kind == "mix_bfloat16") return {2, 4 * 768, run_mix<k_pixels, k_planar, bfloat16>};
  if (kind == "mix_float32") return {4, 4 * 768, run_mix<k_pixels, k_planar, float32>};
  return {};
}

/// The kernel named bale_KIND_LAYOUT_PIXELS; one without `run` if there is none.
inline Kernel kernel_named(const std::string& name) {
  if (!name.starts_with("bale_") || name.size() < 13) return {};
  const std::string kind = name.substr(5, name.size() - 12);
  const std::string tail = name.substr(name.size() - 7);
  if (tail == "_nhwc_4") return kernel_of_kind<4, false>(kind);
  if (tail == "_nhwc_1") return kernel_of_kind<1, false>(kind);
  if (tail == "_nchw_4") return kernel_of_kind<4, true>(kind);
  if (tail == "_nchw_1") return kernel_of_kind<1, true>(kind);
  return {};
}

}  // namespace bale::test::fake_cuda
