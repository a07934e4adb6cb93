// Batches on the device are those of the host, bit for bit.
#include <fmt/format.h>

#include "bale/loader/transform/members/dtype_name.hpp"
#include "bale/tests/gpu/gpu_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

std::vector<Transform> transforms_of_every_kind() {
  std::vector<Transform> transforms = {train_transform(32), val_transform(24, 32), padded_transform(96, 100)};
  for (const PixelLayout layout : {PixelLayout::nhwc, PixelLayout::nchw}) {
    for (const std::uint32_t size : {32U, 30U, 7U}) {
      transforms.push_back(float_transform(DType::float16, layout, size));
      transforms.push_back(float_transform(DType::bfloat16, layout, size));
      transforms.push_back(float_transform(DType::float32, layout, size));
    }
    transforms.push_back(train_transform(20));
    transforms.back().layout = layout;
    for (const std::uint32_t width : {100U, 97U}) {  // zeros around the image, which are not zeros of the image
      transforms.push_back(padded_transform(96, width));
      transforms.back().dtype = DType::float16;
      transforms.back().layout = layout;
      transforms.back().normalize = true;
    }
  }
  return transforms;
}

std::string name_of(const Transform& transform) {
  return fmt::format("{} x {}, {}, {}", transform.width, transform.height, dtype_name(transform.dtype),
                     transform.layout == PixelLayout::nhwc ? "nhwc" : "nchw");
}

}  // namespace

TEST_CASE("Batches on the device are those of the host, of every type, layout and kind") {
  const Pack pack(43);
  for (const Transform& transform : transforms_of_every_kind()) {
    INFO(name_of(transform));
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.transform = transform;
    const auto expected = on_host(pack.path, options);
    for (const bool convert : {true, false}) {
      const Device device;
      CudaLoader loader(pack.path, options, {.convert = convert});
      CHECK(on_device(loader) == expected);
      if (!refuses_nothing(loader)) continue;
      CHECK(loader.converts_on_device() == (convert && transform.dtype != DType::uint8));
      CHECK(loader.counters().pageable_bytes == 0);
    }
  }
}

TEST_CASE("Large batches are those of the host") {
  const Pack pack(130);
  for (const DType dtype : {DType::uint8, DType::bfloat16}) {
    for (const PixelLayout layout : {PixelLayout::nhwc, PixelLayout::nchw}) {
      LoaderOptions options = float_batches(dtype, layout, 224);
      options.transform.normalize = dtype != DType::uint8;
      options.batch_size = 64;
      const Device device;
      CudaLoader loader(pack.path, options, {});
      CHECK(on_device(loader) == on_host(pack.path, options));
    }
  }
}

TEST_CASE("Workers of each kind, ranks and rings of any size give the batches of the host") {
  const Pack pack(50);
  LoaderOptions options = float_batches(DType::float16, PixelLayout::nchw);
  options.tail = Tail::uneven;  // with empty rows
  options.world_size = 3;
  options.rank = 2;
  const auto expected = on_host(pack.path, options, 2);
  const Device device;
  const auto check = [&](const LoaderOptions& changed, const CudaOptions& cuda) {
    CudaLoader loader(pack.path, changed, cuda);
    CHECK(on_device(loader, 2) == expected);
  };
  check(options, {});
  check(options, {.depth = 1, .hold = 1});
  check(options, {.depth = 5, .hold = 2, .timing = true});
  options.prefetch = 2;
  check(options, {.depth = 4});
  options.prefetch_next_epoch = false;
  check(options, {.copy_thread = false});
  options.worker_mode = WorkerMode::processes;
  options.persistent_workers = false;
  check(options, {});
  options.workers = 0;
  check(options, {});
}

TEST_CASE("Copies and waiting are timed if that is asked for") {
  const Pack pack(40);
  const Device device;
  CudaLoader loader(pack.path, float_batches(DType::float16, PixelLayout::nhwc), {.timing = true});
  on_device(loader, 2);
  const CudaCounters counters = loader.counters();
  CHECK(counters.batches == 10);
  CHECK(counters.samples == 80);
  CHECK(counters.copied_bytes > 0);
  CHECK(counters.copy_seconds > 0);
}
