// What CudaOptions must be next to the options of the loader, and what they need.
#pragma once

#include "bale/loader/cuda/cuda_loader.hpp"

namespace bale::cuda_detail {

/// Whether the images are mirrored or mixed after the copy.
bool needs_kernels(const CudaOptions& cuda);

/// `cuda` itself. Throws Error(invalid_argument or unsupported) if it is out of range or contradicts `options`.
CudaOptions checked(const CudaOptions& cuda, const LoaderOptions& options);

}  // namespace bale::cuda_detail
