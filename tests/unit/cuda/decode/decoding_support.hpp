// What the tests of a device that decodes share. nvJPEG is the fake one, whose pixels are those of the workers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bale/tests/support/fake_nvjpeg/fake_nvjpeg.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"

namespace bale::test {

/// A fake device with nvJPEG; at its end nothing may be left of either.
class FakeDecodingDevice {
 public:
  explicit FakeDecodingDevice(fake_cuda::Pace pace = fake_cuda::Pace::when_asked) : device_(pace) {
    fake_nvjpeg::reset();
  }
  ~FakeDecodingDevice() {
    CHECK(fake_nvjpeg::num_live() == 0);
    fake_nvjpeg::reset();
  }
  FakeDecodingDevice(const FakeDecodingDevice&) = delete;
  FakeDecodingDevice& operator=(const FakeDecodingDevice&) = delete;

 private:
  FakeDevice device_;
};

inline CudaOptions decoding_device() {
  CudaOptions cuda;
  cuda.decode = DecodeOn::device;
  return cuda;
}

/// Samples of ImageSource that are PNGs.
inline std::uint64_t num_pngs(std::uint64_t size) { return size / 7; }

struct DecodedEpochs {
  std::vector<Snapshot> batches{};
  CudaCounters counters{};
  std::vector<std::string> fallbacks{};
  bool decodes = false;
  std::uint64_t num_bad = 0;
};

/// The batches of some epochs, with whatever faults were set up.
inline DecodedEpochs decoded_epochs(const std::string& pack, const LoaderOptions& options, const CudaOptions& cuda,
                                    int num_epochs = 2) {
  CudaLoader loader(pack, options, cuda);
  Trainer trainer(cuda_detail::Context::open(0));
  for (int epoch = 0; epoch < num_epochs; ++epoch) train_epoch(loader, trainer);
  return {trainer.finish(), loader.counters(), loader.fallbacks(), loader.decodes_on_device(),
          loader.bad_samples().size()};
}

/// The same, decoded by the workers.
inline std::vector<Snapshot> host_epochs(const std::string& pack, const LoaderOptions& options, CudaOptions cuda = {},
                                         int num_epochs = 2) {
  const FakeDevice device;
  cuda.decode = DecodeOn::host;
  return decoded_epochs(pack, options, cuda, num_epochs).batches;
}

}  // namespace bale::test
