// The kernels that resize, started on the device by themselves: nvJPEG need not be there, and its pixels do not matter.
#include <cstring>

#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/tests/gpu/gpu_support.hpp"
#include "bale/tests/unit/cuda/resize_cases.hpp"

namespace bale::cuda_detail {
extern const char* const k_resize_kernels_ptx;
}  // namespace bale::cuda_detail

using namespace bale;
using namespace bale::test;
using cuda_detail::DeviceMemory;
using cuda_detail::DevicePointer;
using cuda_detail::HostMemory;

namespace {

const std::vector<std::string> k_kernels = {"bale_resize_weights", "bale_resize"};  // in their order

/// Memory on the device with the values of a vector.
class Uploaded {
 public:
  template <typename Value>
  Uploaded(const Device& device, const cuda_detail::Stream& stream, const std::vector<Value>& values)
      : size_(values.size() * sizeof(Value)), memory_(device.context(), size_), staging_(device.context(), size_) {
    std::memcpy(staging_.data(), values.data(), size_);
    const cuda_detail::Current current(*device.context());
    const cuda_detail::Driver& driver = device.context()->driver();
    driver.check(driver.cuMemcpyHtoDAsync_v2(memory_.address(), staging_.data(), size_, stream.handle()), "copy");
  }

  template <typename Pointer>
  Pointer as() const {
    return reinterpret_cast<Pointer>(memory_.address());
  }
  std::vector<std::uint8_t> read(const Device& device, const cuda_detail::Stream& stream) const {
    std::vector<std::uint8_t> values(size_);
    const cuda_detail::Current current(*device.context());
    const cuda_detail::Driver& driver = device.context()->driver();
    driver.check(driver.cuMemcpyDtoHAsync_v2(values.data(), memory_.address(), size_, stream.handle()), "read");
    stream.synchronize();
    return values;
  }

 private:
  std::size_t size_;
  DeviceMemory memory_;
  HostMemory staging_;
};

std::vector<std::uint8_t> resized(const Device& device, const cuda_detail::Module& module, const ResizeCase& images,
                                  unsigned grid_x, unsigned grid_y) {
  const cuda_detail::Stream stream(device.context());
  const Uploaded decoded(device, stream, images.decoded);
  const Uploaded rows(device, stream, images.rows);
  const Uploaded table(device, stream, std::vector<std::int32_t>(images.table_end));
  const Uploaded out(device, stream, std::vector<std::uint8_t>(images.expected.size(), k_untouched));
  cuda_detail::ResizeArgs args{.decoded = decoded.as<const std::uint8_t*>(),
                               .rows = rows.as<const ResizeRow*>(),
                               .table = table.as<std::int32_t*>(),
                               .out = out.as<std::uint8_t*>(),
                               .width = images.width,
                               .height = images.height,
                               .num_images = static_cast<std::uint32_t>(images.rows.size())};
  void* parameters[] = {&args};
  const cuda_detail::Driver& driver = device.context()->driver();
  for (const std::string& kernel : k_kernels) {
    const auto function = module.function(kernel);
    const cuda_detail::Current current(*device.context());
    driver.check(driver.cuLaunchKernel(function, grid_x, grid_y, 1, cuda_detail::k_block_threads, 1, 1, 0,
                                       stream.handle(), parameters, nullptr),
                 "start a kernel");
  }
  return out.read(device, stream);
}

}  // namespace

TEST_CASE("Kernels on the device crop, resize and mirror as the workers do, bit for bit") {
  const Device device;
  std::string refusal;
  const auto module =
      cuda_detail::Module::load(device.context(), cuda_detail::k_resize_kernels_ptx, k_kernels, refusal);
  if (!module) {
    note_skip("the device does not take the kernels: " + refusal);
    return;
  }
  KeyedRandom random{7};
  for (const auto& [width, height] : {std::pair{1U, 1U}, {7U, 5U}, {32U, 32U}, {45U, 20U}, {224U, 224U}}) {
    for (const auto& [grid_x, grid_y] : {std::pair{1U, 1U}, {3U, 2U}, {2U, 70U}}) {
      const ResizeCase images(width, height, 24, random);
      CHECK(resized(device, *module, images, grid_x, grid_y) == images.expected);
    }
  }
}
