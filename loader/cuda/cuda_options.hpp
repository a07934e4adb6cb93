// What CudaOptions must be next to the options of the loader.
#pragma once

#include "bale/loader/cuda/cuda_loader.hpp"

namespace bale::cuda_detail {

/// `cuda` itself. Throws Error(invalid_argument or unsupported) if it is out of range or contradicts `options`.
CudaOptions checked(const CudaOptions& cuda, const LoaderOptions& options);

}  // namespace bale::cuda_detail
