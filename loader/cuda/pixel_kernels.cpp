#include "bale/loader/cuda/pixel_kernels.hpp"

#include "bale/loader/cuda/cuda_options.hpp"

namespace bale::cuda_detail {

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
