#include "bale/loader/cuda/kernels/kernel_choice.hpp"

#include <algorithm>

#include <fmt/format.h>

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

}  // namespace bale::cuda_detail
