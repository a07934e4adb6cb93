// Deliveries of one sample in one epoch: repeats, and draws with replacement.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;

namespace {

constexpr std::uint32_t k_side = 16;
constexpr std::uint64_t k_flip_tag = 0x6465'7666'6c69'70;  // part of what a seed means

LoaderOptions whole_images(std::uint32_t batch_size) {
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.batch_size = batch_size;
  options.transform = val_transform(k_side, k_side);
  options.transform.dtype = DType::float32;
  options.transform.layout = PixelLayout::nchw;
  options.shuffle = Shuffle::none();
  return options;
}

std::vector<float> image_of(const Snapshot& batch, std::size_t row) {
  std::vector<float> image(std::size_t{3} * k_side * k_side);
  std::memcpy(image.data(), batch.images.data() + row * image.size() * sizeof(float), image.size() * sizeof(float));
  return image;
}

std::vector<float> mirrored(const std::vector<float>& image) {
  std::vector<float> result(image.size());
  for (std::size_t at = 0; at < image.size(); ++at) result[at] = image[at - at % k_side + k_side - 1 - at % k_side];
  return result;
}

/// Of each sample, in the order of delivery: whether the device mirrored it.
std::map<std::uint64_t, std::vector<bool>> flips_of(const std::string& pack, const LoaderOptions& options,
                                                    const Selection& selection) {
  Loader host(pack, options, selection);
  const auto plain = snapshots(host);
  const FakeDevice device;
  CudaLoader loader(pack, options, {.flip_probability = 0.5}, selection);
  Trainer trainer(Context::open(0));
  train_epoch(loader, trainer);
  const auto got = trainer.finish();
  REQUIRE(got.size() == plain.size());
  std::map<std::uint64_t, std::vector<bool>> flips;
  for (std::size_t b = 0; b < got.size(); ++b) {
    for (std::size_t row = 0; row < got[b].samples.size(); ++row) {
      const auto before = image_of(plain[b], row);
      const auto after = image_of(got[b], row);
      REQUIRE(before != mirrored(before));
      REQUIRE((after == before || after == mirrored(before)));
      flips[got[b].samples[row]].push_back(after != before);
    }
  }
  return flips;
}

}  // namespace

TEST_CASE("Deliveries of one sample in one epoch are mirrored by draws of their own") {
  const Pack pack(12);
  const LoaderOptions options = whole_images(8);

  std::size_t with_both = 0;
  for (const auto& [sample, flips] : flips_of(pack.path, options, Selection::all(12).repeated(8))) {
    REQUIRE(flips.size() == 8);
    with_both += std::set(flips.begin(), flips.end()).size() == 2 ? 1 : 0;
    // The first delivery's draw is that of a sample which is delivered once.
    CHECK(flips[0] == (KeyedRandom{options.seed, 0, sample, k_flip_tag}.uniform() < 0.5));
  }
  CHECK(with_both >= 9);

  std::vector<double> weights(12, 0.0);
  weights[3] = 1;
  const auto drawn = flips_of(pack.path, options, Selection::weighted(weights, 64));
  REQUIRE(drawn.size() == 1);
  const auto num_mirrored = std::count(drawn.at(3).begin(), drawn.at(3).end(), true);
  CHECK((num_mirrored >= 16 && num_mirrored <= 48));
}

TEST_CASE("Batches of one epoch that begin with the same sample are mixed by draws of their own") {
  const Pack pack(6);
  const FakeDevice device;
  CudaLoader loader(pack.path, whole_images(4), {.mix = {.mixup_alpha = 1}}, Selection::all(6).repeated(16));
  const auto context = Context::open(0);
  Trainer trainer(context);
  std::map<std::uint64_t, std::set<float>> shares;
  while (const auto batch = loader.next(trainer.stream())) {
    trainer.step(*batch);
    std::vector<float> of_batch(batch->size());
    {
      const cuda_detail::Current current(*context);
      const cuda_detail::Driver& driver = context->driver();
      driver.check(driver.cuMemcpyDtoHAsync_v2(
                       of_batch.data(), reinterpret_cast<cuda_detail::DevicePointer>(batch->shares()),
                       of_batch.size() * sizeof(float), static_cast<cuda_detail::StreamHandle>(trainer.stream())),
                   "read shares");
    }
    trainer.finish();
    shares[batch->samples()[0]].insert(of_batch[0]);
  }
  REQUIRE(shares.size() == 6);
  for (const auto& [sample, of_sample] : shares) CHECK(of_sample.size() == 4);
}
