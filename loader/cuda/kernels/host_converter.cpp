#include "bale/loader/cuda/kernels/host_converter.hpp"

namespace bale::cuda_detail {

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

}  // namespace bale::cuda_detail
