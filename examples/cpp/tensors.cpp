// Batches as DLPack, without a copy: what at::fromDLPack() and others take.
#include <dlpack/dlpack.h>

#include <iostream>
#include <memory>

#include "bale/formats/base/error.hpp"
#include "bale/loader/dlpack.hpp"
#include "bale/loader/loader.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    bale::Transform transform = bale::train_transform(64);
    transform.dtype = bale::DType::float32;
    transform.layout = bale::PixelLayout::nchw;
    bale::Loader loader{argv[1], {.batch_size = 8, .workers = 1, .seed = 1, .transform = transform}};
    auto batch = std::make_shared<const bale::Batch>(*loader.next());
    const std::weak_ptr<const bale::Batch> lives = batch;
    const bale::Bytes pixels = batch->pixels();
    DLManagedTensor* const images = bale::to_dlpack<DLManagedTensor>(batch);
    DLManagedTensor* const labels = bale::labels_to_dlpack<DLManagedTensor>(std::move(batch));
    const DLTensor& array = images->dl_tensor;
    for (int i = 0; i < array.ndim; ++i) std::cout << array.shape[i] << '/' << array.strides[i] << ' ';
    std::cout << int{array.dtype.code} << ' ' << int{array.dtype.bits} << ' ' << (array.data == pixels.data()) << ' ';
    std::cout << labels->dl_tensor.shape[0] << ' ' << int{labels->dl_tensor.dtype.bits} << ' ';
    images->deleter(images);
    std::cout << !lives.expired();
    labels->deleter(labels);
    std::cout << !lives.expired() << '\n';
  } catch (const bale::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
