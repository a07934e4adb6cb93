// Shared by the sources of the kernels: divides the work of convert_kernel.hpp among the threads.
//
// Clang compiles them to PTX without CUDA's headers (scripts/gpu/make_ptx.sh); the driver compiles the PTX. They are
// compiled without floating-point contraction, so that mixed values are the same as on the host.
#pragma once

#include "bale/loader/cuda/kernels/convert_kernel.hpp"

#define BALE_KERNEL extern "C" __attribute__((global)) __attribute__((launch_bounds(256))) void
#define BALE_SHARED __attribute__((shared))
#define BALE_THREAD __nvvm_read_ptx_sreg_tid_x()
#define BALE_BLOCK(axis) __nvvm_read_ptx_sreg_ctaid_##axis()
#define BALE_BLOCKS(axis) __nvvm_read_ptx_sreg_nctaid_##axis()

using namespace bale::cuda_detail;

static_assert(k_block_threads == 256);

namespace {

/// Loads the table into shared memory and calls `work` for this thread's share of the batch.
template <int k_pixels, typename Value, typename Work>
BALE_ON_DEVICE inline void with_table(const ConvertArgs& args, Value* table, const Work& work) {
  for (unsigned i = BALE_THREAD; i < 3 * 256; i += k_block_threads) table[i] = static_cast<const Value*>(args.table)[i];
  __syncthreads();
  for_each_group<k_pixels>(args, BALE_BLOCK(x) * k_block_threads + BALE_THREAD, BALE_BLOCKS(x) * k_block_threads,
                           BALE_BLOCK(y), BALE_BLOCKS(y), work);
}

}  // namespace
