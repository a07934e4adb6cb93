// Batches as tensors of LibTorch, without a copy.
#include <iostream>
#include <memory>

#include "bale/bale.hpp"
#include "bale/loader/torch.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    bale::Transform transform = bale::train_transform(32);
    transform.dtype = bale::DType::float32;
    transform.layout = bale::PixelLayout::nchw;
    transform.normalize = true;
    bale::Loader loader{argv[1],
                        {.batch_size = 8, .workers = 1, .seed = 1, .tail = bale::Tail::drop, .transform = transform}};
    std::int64_t rows = 0;
    std::weak_ptr<const bale::Batch> lives;
    for (bale::Batch& next : loader) {
      const auto batch = std::make_shared<const bale::Batch>(std::move(next));
      lives = batch;
      const at::Tensor images = bale::to_torch(bale::image_tensor(*batch), batch);
      const at::Tensor labels = bale::to_torch(bale::tensor_of(batch->labels()), batch);
      if (images.data_ptr() != batch->pixels().data()) return 1;
      if (labels.scalar_type() != at::kLong || !images.mean().isfinite().item<bool>()) return 1;
      rows += images.size(0);
    }
    std::cout << rows << ' ' << lives.expired() << '\n';  // the memory is given back with the last tensor
  } catch (const bale::Error& error) {
    std::cerr << bale::error_code_name(error.code()) << ": " << error.what() << '\n';
    return 1;
  }
}
