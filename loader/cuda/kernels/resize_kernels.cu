// Kernels that crop, resize and mirror decoded images.
#include "bale/loader/cuda/kernels/kernel_entry.hpp"
#include "bale/loader/cuda/kernels/resize_kernel.hpp"

BALE_KERNEL bale_resize_weights(const ResizeArgs args) {
  for_each_item(args.num_images, args.width + args.height, BALE_BLOCK(x) * k_block_threads + BALE_THREAD,
                BALE_BLOCKS(x) * k_block_threads, BALE_BLOCK(y), BALE_BLOCKS(y),
                [&](std::uint32_t image, std::uint32_t entry) { weigh_entry(args, image, entry); });
}

BALE_KERNEL bale_resize(const ResizeArgs args) {
  for_each_item(args.num_images, args.width * args.height, BALE_BLOCK(x) * k_block_threads + BALE_THREAD,
                BALE_BLOCKS(x) * k_block_threads, BALE_BLOCK(y), BALE_BLOCKS(y),
                [&](std::uint32_t image, std::uint32_t pixel) { resize_pixel(args, image, pixel); });
}
