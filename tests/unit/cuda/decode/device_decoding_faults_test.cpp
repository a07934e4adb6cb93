// nvJPEG that is missing, refuses or fails: the host decodes, with the same batches, and says so.
#include <cstring>
#include <string>
#include <vector>

#include "bale/tests/unit/cuda/decode/decoding_support.hpp"

using namespace bale;
using namespace bale::test;
using fake_cuda::Pace;

namespace {

constexpr int k_all_statuses[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 77};
constexpr const char* k_told = "the device does not decode images, so workers do: ";

LoaderOptions small_options() {
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = train_transform(24);
  return options;
}

/// Judges one image of a pack by its length, which no other image of these packs has.
std::size_t length_of(const Pack& pack, std::uint64_t sample) {
  Scratch scratch;
  return Dataset::open(pack.path).read(sample, scratch).fields.front().bytes.size();
}

/// ImageSource, but one JPEG has a Huffman table that no decoder accepts. It is complete, as a look at its end shows.
class SpoiledSource final : public ImageSource {
 public:
  SpoiledSource(std::uint64_t size, std::uint64_t spoiled) : ImageSource(size), spoiled_(spoiled) {}
  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    SampleView view = ImageSource::read(i, scratch);
    if (i != spoiled_) return view;
    thread_local std::vector<std::byte> jpeg;
    const Bytes whole = scratch.fields().front().bytes;
    jpeg.assign(whole.begin(), whole.end());
    for (std::size_t at = 0; at + 24 < jpeg.size(); ++at) {
      if (jpeg[at] != std::byte{0xFF} || jpeg[at + 1] != std::byte{0xC4}) continue;
      jpeg[at + 5] = std::byte{3};  // three codes of one bit: T.81, C.2
      jpeg[at + 7] = std::byte{2};  // in place of three of three bits
      break;
    }
    scratch.fields().front().bytes = jpeg;
    view.fields = scratch.fields();
    return view;
  }

 private:
  std::uint64_t spoiled_;
};

struct SpoiledPack {
  TempDir dir;
  SpoiledSource images{41, 3};
  std::string path = pack_images(images, dir / "pack", formats().front()->name, 20);
};

}  // namespace

TEST_CASE("Without nvJPEG that works, workers decode, and it is reported once") {
  const Pack pack(41);
  const std::vector<Snapshot> expected = host_epochs(pack.path, small_options());
  struct Case {
    std::string library;
    const char* refused;
    int status;
    std::string reason;
  };
  const std::string fakes = BALE_TEST_FAKES;
  for (const Case& one : {Case{"/nonexistent/libnvjpeg.so.12", nullptr, 0, "/nonexistent/libnvjpeg.so.12: cannot open"},
                          Case{fakes + "/libcuda.so.1", nullptr, 0, "libcuda.so.1 has no function nvjpegCreateEx"},
                          Case{"", "nvjpegCreateEx", 7, "nvjpegCreateEx: NVJPEG_STATUS_ARCH_MISMATCH"},
                          Case{"", "nvjpegCreateEx", 5, "nvjpegCreateEx: NVJPEG_STATUS_ALLOCATOR_FAILURE"}}) {
    const FakeDecodingDevice device;
    if (one.refused != nullptr) fake_nvjpeg::refuse(one.refused, one.status);
    CudaOptions cuda = decoding_device();
    cuda.nvjpeg_library = one.library;
    const DecodedEpochs made = decoded_epochs(pack.path, small_options(), cuda);
    CHECK(made.batches == expected);
    CHECK_FALSE(made.decodes);
    CHECK(made.counters.decoded_on_device == 0);
    REQUIRE(made.fallbacks.size() == 1);
    INFO(made.fallbacks[0]);
    CHECK(made.fallbacks[0].starts_with(k_told));
    CHECK(made.fallbacks[0].find(one.reason) != std::string::npos);
  }
}

TEST_CASE("A device that does not take the kernels does not decode either") {
  const Pack pack(41);
  for (const DType dtype : {DType::uint8, DType::float16}) {
    LoaderOptions options = small_options();
    options.transform.dtype = dtype;
    const std::vector<Snapshot> expected = host_epochs(pack.path, options);
    const FakeDecodingDevice device;
    fake_cuda::refuse("cuModuleLoadData", 222);
    const DecodedEpochs made = decoded_epochs(pack.path, options, decoding_device());
    CHECK(made.batches == expected);
    CHECK_FALSE(made.decodes);
    CHECK(made.fallbacks.back().starts_with(k_told));
  }
}

TEST_CASE("The fastest decoder that the device has is taken") {
  const Pack pack(20);
  for (const int backend : {3, 2, 0}) {
    const FakeDecodingDevice device;
    for (const int refused : {3, 2}) {
      if (refused > backend) fake_nvjpeg::refuse("nvjpegCreateEx:" + std::to_string(refused), 7);
    }
    if (backend == 2) fake_nvjpeg::refuse("nvjpegCreateEx:flags 32", 2);  // a library before 12.1
    CHECK(decoded_epochs(pack.path, small_options(), decoding_device()).decodes);
    CHECK(fake_nvjpeg::backend() == backend);
    CHECK(fake_nvjpeg::flags() == (backend == 2 ? 0U : 32U));
  }
}

TEST_CASE("A call that fails once is made good, whatever it says") {
  const Pack pack(60);
  const std::vector<Snapshot> expected = host_epochs(pack.path, small_options());
  for (const char* const function : {"nvjpegJpegStateCreate", "nvjpegDecodeBatchedInitialize", "nvjpegDecodeBatched"}) {
    for (const int status : k_all_statuses) {
      INFO(function << " " << status);
      const FakeDecodingDevice device(Pace::thread);
      const bool is_later = std::string(function) == "nvjpegDecodeBatched";
      fake_nvjpeg::fail_once(function, is_later ? 2 : 0, status);
      const DecodedEpochs made = decoded_epochs(pack.path, small_options(), decoding_device());
      CHECK(made.batches == expected);
      CHECK(made.decodes);
      CHECK(made.fallbacks.empty());
      // A batch that fails is decoded image by image. Only without a state there is no other way.
      const bool has_no_state = std::string(function) == "nvjpegJpegStateCreate";
      CHECK((made.counters.decoded_after_refusal > 0) == has_no_state);
    }
  }
}

TEST_CASE("An image that the device does not decode is decoded by the host, and not tried in the next epoch") {
  const Pack pack(60);
  const std::vector<Snapshot> expected = host_epochs(pack.path, small_options(), {}, 3);
  const std::size_t length = length_of(pack, 2);
  for (const int status : k_all_statuses) {
    INFO(status);
    const FakeDecodingDevice device(Pace::thread);
    std::uint64_t asked = 0;
    fake_nvjpeg::judge_images([&](const unsigned char*, std::size_t size) {
      if (size != length) return 0;
      ++asked;
      return status;
    });
    const DecodedEpochs made = decoded_epochs(pack.path, small_options(), decoding_device(), 3);
    CHECK(made.batches == expected);
    CHECK(made.decodes);
    CHECK(made.fallbacks.empty());
    CHECK(made.counters.decoded_after_refusal >= 3);
    const bool is_about_image = status == 3 || status == 4 || status == 9 || status == 10;
    // Each time with its batch, and alone. The copy thread may have gone on in the meantime.
    CHECK((is_about_image ? asked == 2 : asked >= 2 * made.counters.decoded_after_refusal));
  }
}

TEST_CASE("A device that decodes nothing any more gets no more images, and it is reported") {
  const Pack pack(200);
  const std::vector<Snapshot> expected = host_epochs(pack.path, small_options());
  for (const int status : k_all_statuses) {
    INFO(status);
    const FakeDecodingDevice device;
    fake_nvjpeg::refuse("nvjpegDecodeBatched", status);
    fake_nvjpeg::refuse("nvjpegDecode", status);
    const DecodedEpochs made = decoded_epochs(pack.path, small_options(), decoding_device());
    CHECK(made.batches == expected);
    CHECK_FALSE(made.decodes);
    CHECK(made.counters.decoded_on_device == 0);
    REQUIRE(made.fallbacks.size() == 1);
    CHECK(made.fallbacks[0].starts_with(std::string(k_told) + (status == 77 ? "nvJPEG status 77" : "NVJPEG_STATUS_")));
    CHECK(fake_nvjpeg::num_calls("nvjpegDecodeBatched") == 2);
    // Then workers decode; this process only what was in the ring by then.
    CHECK(made.counters.decoded_after_refusal < 100);
  }
}

TEST_CASE("A device without memory for decoded images does not decode") {
  const Pack pack(200);
  const std::vector<Snapshot> expected = host_epochs(pack.path, small_options());
  for (const std::uint64_t after : {0U, 1U}) {  // the images', the table's
    const FakeDecodingDevice device;
    CudaLoader loader(pack.path, small_options(), decoding_device());
    Trainer trainer(cuda_detail::Context::open(0));
    fake_cuda::fail_once("cuMemAlloc_v2", after, 2);
    for (int epoch = 0; epoch < 2; ++epoch) train_epoch(loader, trainer);
    CHECK(trainer.finish() == expected);
    CHECK_FALSE(loader.decodes_on_device());
    REQUIRE(loader.fallbacks().size() == 1);
    CHECK(loader.fallbacks()[0].find("out of memory") != std::string::npos);
    CHECK(loader.counters().decoded_on_device == 0);
  }
}

TEST_CASE("A device that is lost while it decodes is an error, and the process continues") {
  const Pack pack(60);
  for (std::uint64_t steps = 0; steps < 4; ++steps) {
    fake_cuda::reset(steps);
    fake_nvjpeg::reset();
    {
      CudaLoader loader(pack.path, small_options(), decoding_device());
      for (std::uint64_t i = 0; i < steps; ++i) (void)loader.next();
      fake_cuda::break_device(700);
      for (int i = 0; i < 3; ++i) CHECK(code_of([&] { (void)loader.next(); }) == ErrorCode::io);
    }
    fake_nvjpeg::reset();  // its objects were lost with the device
    fake_cuda::reset();
  }
}

TEST_CASE("A driver's error while a batch is decoded loses nothing") {
  const Pack pack(60);
  const std::vector<Snapshot> expected = host_epochs(pack.path, small_options(), {}, 1);
  for (const char* const function : {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuEventRecord"}) {
    for (const std::uint64_t after : {0U, 1U, 4U}) {
      INFO(function << " " << after);
      const FakeDecodingDevice device(Pace::thread);
      LoaderOptions options = small_options();
      CudaOptions cuda = decoding_device();
      cuda.copy_thread = false;
      CudaLoader loader(pack.path, options, cuda);
      Trainer trainer(cuda_detail::Context::open(0));
      fake_cuda::fail_once(function, after, 999);
      for (bool ended = false; !ended;) {
        try {
          train_epoch(loader, trainer);
          ended = true;
        } catch (const Error& error) {
          CHECK(error.code() == ErrorCode::io);
        }
      }
      CHECK(trainer.finish() == expected);
    }
  }
}

TEST_CASE("An image that nobody decodes is a bad sample") {
  const SpoiledPack pack;
  LoaderOptions options = small_options();
  options.on_bad_sample = OnBadSample::skip;
  const std::vector<Snapshot> expected = host_epochs(pack.path, options);
  const FakeDecodingDevice device;
  const std::size_t length = [&] {
    Scratch scratch;
    return Dataset::open(pack.path).read(3, scratch).fields.front().bytes.size();
  }();
  fake_nvjpeg::judge_images([&](const unsigned char*, std::size_t size) { return size == length ? 3 : 0; });
  const DecodedEpochs made = decoded_epochs(pack.path, options, decoding_device());
  CHECK(made.batches == expected);
  CHECK(made.num_bad == 1);  // a sample counts once

  options.on_bad_sample = OnBadSample::fail;
  CudaLoader loader(pack.path, options, decoding_device());
  std::string message;
  for (int i = 0; i < 6 && message.empty(); ++i) message = message_of([&] { (void)loader.next(); });
  CHECK(message.find("image3") != std::string::npos);
  CHECK(code_of([&] { (void)loader.next(); }) == ErrorCode::damaged);
  CHECK(message_of([&] { (void)loader.next(); }) == message);
  CHECK(loader.bad_samples().size() == 1);
}
