// Batches of images that the device decodes: those of the workers, if nvJPEG's pixels are.
#include <map>
#include <string>
#include <vector>

#include "bale/loader/transform/transforms.hpp"
#include "bale/tests/unit/cuda/decode/decoding_support.hpp"

using namespace bale;
using namespace bale::test;
using fake_cuda::Pace;

namespace {

LoaderOptions with_transform(const Transform& transform, unsigned workers = 2) {
  LoaderOptions options = small_batches(workers, WorkerMode::threads);
  options.transform = transform;
  options.on_bad_sample = OnBadSample::skip;
  return options;
}

Transform list_of(std::vector<TransformNode> nodes, PixelLayout layout = PixelLayout::nhwc) {
  return list_transform(std::move(nodes), layout);
}

std::map<std::string, Transform> transforms_for_devices() {
  using namespace transforms;
  std::map<std::string, Transform> all{
      {"train", train_transform(32)},
      {"val", val_transform(20, 24)},
      {"float16 nchw", float_transform(DType::float16, PixelLayout::nchw, 20)},
      {"float32 nhwc", float_transform(DType::float32, PixelLayout::nhwc, 13)},
      {"list", list_of({RandomResizedCrop{.size = {24, 30}, .interpolation = {Filter::bicubic}}, RandomHorizontalFlip{},
                        ToDtype{DType::bfloat16}, Normalize{}},
                       PixelLayout::nchw)},
      {"bicubic", list_of({RandomResizedCrop{.size = {32, 32}, .interpolation = {Filter::bicubic}}})},
      {"list of val", list_of({Resize{.height = 30}, CenterCrop{.size = {25, 28}}})},
      {"list with two filters",
       list_of({RandomResizedCrop{.size = {16, 16}, .interpolation = {Filter::bilinear, Filter::bicubic}}})}};
  all["old order"] = train_transform(32);
  all["old order"].pass_order = PassOrder::pillow_12;
  return all;
}

}  // namespace

TEST_CASE("A device that decodes gives the batches of the workers, where decoders agree") {
  const Pack pack(90, {5, 6});
  for (const auto& [name, transform] : transforms_for_devices()) {
    INFO(name);
    const LoaderOptions options = with_transform(transform);
    const std::vector<Snapshot> expected = host_epochs(pack.path, options);
    for (const Pace pace : {Pace::when_asked, Pace::thread, Pace::late}) {
      const FakeDecodingDevice device(pace);
      const DecodedEpochs made = decoded_epochs(pack.path, options, decoding_device());
      CHECK(made.batches == expected);
      CHECK(made.decodes);
      CHECK(made.fallbacks.empty());
      CHECK(made.counters.decoded_after_refusal == 0);
      CHECK(made.counters.decoded_on_device > 100);                          // 77 JPEGs per epoch
      CHECK(fake_nvjpeg::num_decoded() >= made.counters.decoded_on_device);  // the copy thread continued
    }
  }
}

TEST_CASE("Processes leave JPEGs to the device, too, and a loader without workers") {
  const Pack pack(41);
  for (const unsigned workers : {0U, 3U}) {
    LoaderOptions options = small_batches(workers);
    const std::vector<Snapshot> expected = host_epochs(pack.path, options);
    const FakeDecodingDevice device;
    const DecodedEpochs made = decoded_epochs(pack.path, options, decoding_device());
    CHECK(made.batches == expected);
    CHECK(made.counters.decoded_on_device >= 2 * (41 - num_pngs(41)));
  }
}

TEST_CASE("A device that decodes also mirrors, mixes and keeps many batches") {
  const Pack pack(60);
  LoaderOptions options = with_transform(float_transform(DType::float16, PixelLayout::nhwc, 16));
  options.transform = without_flips(options.transform);
  CudaOptions cuda = decoding_device();
  cuda.flip_probability = 0.5;
  cuda.mix = {.mixup_alpha = 0.8, .cutmix_alpha = 1};
  const std::vector<Snapshot> expected = host_epochs(pack.path, options, cuda);
  const FakeDecodingDevice device(Pace::thread);
  CHECK(decoded_epochs(pack.path, options, cuda).batches == expected);

  CudaLoader loader(pack.path, options, cuda);
  std::vector<DeviceBatch> kept;
  while (auto batch = loader.next()) kept.push_back(*std::move(batch));
  CHECK(kept.size() == 8);
}

TEST_CASE("A device that decodes resumes and jumps as others do") {
  const Pack pack(90);
  const LoaderOptions options = with_transform(train_transform(24));
  const std::vector<Snapshot> expected = host_epochs(pack.path, options, {}, 1);
  const FakeDecodingDevice device(Pace::thread);
  LoaderState state;
  {
    CudaLoader loader(pack.path, options, decoding_device());
    for (int i = 0; i < 5; ++i) (void)loader.next();
    state = loader.state();
  }
  LoaderOptions other = options;
  other.workers = 1;
  CudaLoader loader(pack.path, other, decoding_device());
  Trainer trainer(cuda_detail::Context::open(0));
  loader.load_state(state);
  train_epoch(loader, trainer);
  const std::vector<Snapshot> rest = trainer.finish();
  REQUIRE(rest.size() + 5 == expected.size());
  for (std::size_t i = 0; i < rest.size(); ++i) CHECK(rest[i].images == expected[i + 5].images);
  loader.set_epoch(0);
  train_epoch(loader, trainer);
  CHECK(trainer.finish() == expected);
}

TEST_CASE("Who decodes depends on the image alone") {
  const Pack pack(41);
  const FakeDecodingDevice device;
  // The batches of one epoch, and none of the next one.
  const auto of_an_epoch = [&](unsigned workers, DecodeOn decode) {
    LoaderOptions options = with_transform(train_transform(96), workers);
    options.prefetch_next_epoch = false;
    options.tail = Tail::uneven;
    CudaOptions cuda = decoding_device();
    cuda.decode = decode;
    CudaLoader loader(pack.path, options, cuda);
    for (std::uint64_t i = 0; i < 6; ++i) CHECK(loader.next().has_value());
    return loader.counters();
  };
  CHECK(of_an_epoch(2, DecodeOn::host).decoded_on_device == 0);
  for (const unsigned workers : {0U, 1U, 3U}) {
    CHECK(of_an_epoch(workers, DecodeOn::device).decoded_on_device == 41 - num_pngs(41));
  }
}

TEST_CASE("What a device cannot do to images that it decodes is refused by name") {
  using namespace transforms;
  const Pack pack(8);
  const FakeDecodingDevice device;
  const auto refusal = [&](const Transform& transform, CudaOptions cuda = decoding_device()) {
    LoaderOptions options = with_transform(transform);
    return error_of([&] { CudaLoader(pack.path, options, cuda); }).message();
  };
  const std::string begin = "the device cannot decode images for ";
  const auto list = [](std::vector<TransformNode> nodes) { return list_transform(std::move(nodes)); };
  const RandomResizedCrop crop{.size = {16, 16}};
  CHECK(refusal(list({crop, TrivialAugmentWide{}})) == begin + "TrivialAugmentWide in the list of transforms");
  CHECK(refusal(list({crop, Resize{.height = 8, .width = 8}})) == begin + "Resize after another resize");
  CHECK(refusal(list({RandomCrop{.size = {16, 16}}})) == begin + "RandomCrop in the list of transforms");
  CHECK(refusal(list({CenterCrop{.size = {16, 16}}})) ==
        begin + "a list of transforms without Resize or RandomResizedCrop");
  CHECK(refusal(list({Resize{.height = 16, .width = 16, .interpolation = Filter::lanczos}})) ==
        begin + "an interpolation of Resize other than bilinear and bicubic");
  CHECK(refusal(padded_transform(100, 100)) == begin + "PadTo in the list of transforms");
  CHECK(refusal(list({crop, RandomGrayscale{}})) == begin + "RandomGrayscale in the list of transforms");
  CHECK(refusal(list({RandomResizedCrop{.size = {16, 16}, .interpolation = {Filter::nearest}}})) ==
        begin + "an interpolation of RandomResizedCrop other than bilinear and bicubic");
  Transform changed = train_transform(16);
  changed.layout = PixelLayout::nchw;
  CHECK(refusal(changed) == begin + "uint8 in the layout nchw");
  changed = train_transform(16);
  changed.mode = PixelMode::gray;
  CHECK(refusal(changed) == begin + "a mode other than RGB");
  CudaOptions by_workers = decoding_device();
  by_workers.convert = false;
  CHECK(refusal(float_transform(DType::float16, PixelLayout::nhwc), by_workers) ==
        "a device that decodes images also converts them");
  LoaderOptions substitutes = with_transform(train_transform(16));
  substitutes.on_bad_sample = OnBadSample::substitute;
  CHECK(message_of([&] {
          CudaLoader(pack.path, substitutes, decoding_device());
        }).starts_with("on_bad_sample is substitute, but what a device cannot decode is known too late"));
}

TEST_CASE("Images that grow get more memory on the device, after the batches before") {
  // In order of their numbers: batches of larger and larger images.
  class Growing final : public ImageSource {
   public:
    Growing() : ImageSource(1) {
      for (std::uint32_t i = 0; i < 32; ++i) {
        Image made{.width = 20 + 6 * i, .height = 30 + 5 * i};
        made.rgb.resize(std::size_t{made.width} * made.height * 3, static_cast<std::uint8_t>(40 + 5 * i));
        jpegs_.push_back(encode_jpeg(made, 80));
      }
    }
    std::uint64_t size() const override { return jpegs_.size(); }
    void describe(std::uint64_t i, SourceSample& out) const override {
      ImageSource::describe(0, out);
      out.key = key(i);
      out.fields.front().bytes = jpegs_[i].size();
    }
    SampleView read(std::uint64_t i, Scratch& scratch) const override {
      thread_local std::string name;
      name = key(i);
      SampleView view = ImageSource::read(0, scratch);
      scratch.fields().front().bytes = jpegs_[i];
      const ImageHeader header = probe_image(jpegs_[i]);
      return {
          .key = name, .label = view.label, .width = header.width, .height = header.height, .fields = scratch.fields()};
    }

   private:
    std::vector<std::vector<std::byte>> jpegs_;
  };
  const TempDir dir;
  const std::string pack = pack_images(Growing(), dir / "pack", formats().front()->name, 20);
  LoaderOptions options = with_transform(train_transform(24));
  options.shuffle = Shuffle::none();
  options.batch_size = 2;
  const std::vector<Snapshot> expected = host_epochs(pack, options);
  for (const Pace pace : {Pace::late, Pace::thread}) {
    const FakeDecodingDevice device(pace);
    const DecodedEpochs made = decoded_epochs(pack, options, decoding_device());
    CHECK(made.batches == expected);
    CHECK(made.counters.decoded_on_device >= 64);
  }
}
