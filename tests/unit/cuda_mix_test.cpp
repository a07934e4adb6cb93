#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "bale/loader/cuda/mix.hpp"
#include "bale/tests/unit/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;

namespace {

/// Mean and variance of `count` shares.
std::pair<double, double> moments(const MixOptions& options, int count) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double share = draw_mix(options, {1, 2, static_cast<std::uint64_t>(i)}, 224, 224).share;
    REQUIRE((share >= 0 && share <= 1));
    sum += share;
    squares += share * share;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

}  // namespace

TEST_CASE("Shares are Beta(alpha, alpha): mean 1/2, variance 1 / (4 (2 alpha + 1))") {
  for (const double alpha : {0.0625, 0.2, 0.8, 1.0, 3.0, 40.0}) {
    const auto [mean, variance] = moments({.mixup_alpha = alpha}, 20'000);
    CHECK(mean == Approx(0.5).margin(0.02));
    CHECK(variance == Approx(1 / (4 * (2 * alpha + 1))).margin(0.01));
  }
}

TEST_CASE("The same key gives the same mixing, everywhere") {
  const MixOptions options{.mixup_alpha = 0.8, .cutmix_alpha = 1.0};
  // Golden values: what a seed means does not change from version to version.
  const MixDraw first = draw_mix(options, {1, 0, 10}, 224, 200);
  const MixDraw again = draw_mix(options, {1, 0, 10}, 224, 200);
  CHECK(std::memcmp(&first.share, &again.share, sizeof first.share) == 0);
  CHECK(draw_mix(options, {1, 0, 10}, 224, 200).share != draw_mix(options, {1, 0, 11}, 224, 200).share);
  CHECK(draw_mix(options, {1, 0, 10}, 224, 200).share != draw_mix(options, {1, 1, 10}, 224, 200).share);
  CHECK(draw_mix(options, {1, 0, 10}, 224, 200).share != draw_mix(options, {2, 0, 10}, 224, 200).share);
  CHECK(draw_mix(options, {1, 0, 10}, 224, 200).share != draw_mix(options, {1, 0, 10, 1}, 224, 200).share);
}

TEST_CASE("A box covers what its share says, within the image") {
  int pasted = 0;
  int mixed = 0;
  int plain = 0;
  const MixOptions options{.mixup_alpha = 0.8, .cutmix_alpha = 1.0, .probability = 0.75, .switch_probability = 0.25};
  for (std::uint64_t i = 0; i < 8000; ++i) {
    const MixDraw draw = draw_mix(options, {1, 0, i}, 61, 33);
    if (draw.pastes) {
      ++pasted;
      REQUIRE((draw.left <= draw.right && draw.right <= 61 && draw.top <= draw.bottom && draw.bottom <= 33));
      const double area = (draw.right - draw.left) * (draw.bottom - draw.top);
      REQUIRE(draw.share == Approx(1 - area / (61 * 33)));
    } else {
      ++(draw.share < 1 ? mixed : plain);
      REQUIRE((draw.right == 0 && draw.bottom == 0));
    }
  }
  CHECK(pasted == Approx(8000 * 0.75 * 0.25).margin(150));
  CHECK(mixed == Approx(8000 * 0.75 * 0.75).margin(150));
  CHECK(plain == Approx(8000 * 0.25).margin(150));
}

TEST_CASE("Alphas and probabilities beyond what makes sense are refused") {
  check_mix({});
  check_mix({.mixup_alpha = 0.0625, .cutmix_alpha = 1e6});
  for (const double bad : {-1.0, 0.01, 2e6, std::nan("")}) {
    CHECK_THROWS_AS(check_mix({.mixup_alpha = bad}), Error);
    CHECK_THROWS_AS(check_mix({.cutmix_alpha = bad}), Error);
  }
  for (const double bad : {-0.1, 1.1, std::nan("")}) {
    CHECK_THROWS_AS(check_mix({.mixup_alpha = 1, .probability = bad}), Error);
    CHECK_THROWS_AS(check_mix({.mixup_alpha = 1, .switch_probability = bad}), Error);
  }
}

#if BALE_HAS_CUDA_KERNELS
TEST_CASE("A loader mixes each image with the one before it that is there, and says with which label and share") {
  const ImageSource images(21, {5, 6});
  const TempDir dir;
  const std::string pack = packed(images, dir);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = float_transform(DType::float32, PixelLayout::nchw, 16);
  options.on_bad_sample = OnBadSample::skip;
  options.tail = Tail::uneven;
  Loader host(pack, options);
  const auto plain = snapshots(host, 4);
  for (const MixOptions& mix : {MixOptions{.mixup_alpha = 0.8}, MixOptions{.cutmix_alpha = 1}}) {
    const FakeDevice device;
    CudaLoader loader(pack, options, {.mix = mix});
    const auto context = Context::open(0);
    Trainer trainer(context);
    std::vector<std::vector<std::int64_t>> partners;
    std::vector<std::vector<float>> shares;
    const auto fetch = [&](auto& to, const void* from) {
      const cuda_detail::Current current(*context);
      context->driver().check(context->driver().cuMemcpyDtoHAsync_v2(
                                  to.data(), reinterpret_cast<cuda_detail::DevicePointer>(from),
                                  to.size() * sizeof to[0], static_cast<cuda_detail::StreamHandle>(trainer.stream())),
                              "read");
    };
    for (int epoch = 0; epoch < 4; ++epoch) {
      while (const auto batch = loader.next(trainer.stream())) {
        trainer.step(*batch);
        partners.emplace_back(batch->size());
        shares.emplace_back(batch->size());
        fetch(partners.back(), batch->partner_labels());
        fetch(shares.back(), batch->shares());
      }
    }
    const auto got = trainer.finish();
    REQUIRE(got.size() == plain.size());
    for (std::size_t b = 0; b < got.size(); ++b) {
      const Snapshot& before = plain[b];
      const std::size_t rows = before.samples.size();
      const std::size_t values = 16 * 16 * 3;
      const auto image = [&](const Snapshot& of, std::size_t row) {
        std::vector<float> pixels(values);
        std::memcpy(pixels.data(), of.images.data() + row * values * 4, values * 4);
        return pixels;
      };
      const auto empty = [&](std::size_t row) {
        const auto pixels = image(before, row);
        return std::all_of(pixels.begin(), pixels.end(), [](float value) { return value == 0; });
      };
      const MixDraw draw = draw_mix(mix, {options.seed, before.epoch, before.samples[0]}, 16, 16);
      for (std::size_t row = 0; row < rows; ++row) {
        std::size_t partner = row;
        do partner = (partner + rows - 1) % rows;
        while (empty(partner) && partner != row);
        const bool mixes = partner != row && !empty(row) && draw.share < 1;
        CHECK(shares[b][row] == (mixes ? static_cast<float>(draw.share) : 1));
        if (mixes) CHECK(partners[b][row] == before.labels[partner]);
        const auto own = image(before, row);
        const auto other = image(before, partner);
        const auto mixed = image(got[b], row);
        std::size_t wrong = 0;
        for (std::size_t at = 0; at < values; ++at) {
          float expected = own[at];
          const std::size_t x = at % 16;
          const std::size_t y = at / 16 % 16;
          if (mixes && !draw.pastes) {
            const volatile float a = static_cast<float>(draw.share) * own[at];
            const volatile float b_part = static_cast<float>(1 - draw.share) * other[at];
            expected = a + b_part;
          } else if (mixes && x >= draw.left && x < draw.right && y >= draw.top && y < draw.bottom) {
            expected = other[at];
          }
          wrong += mixed[at] != expected;
        }
        CHECK(wrong == 0);
      }
    }
  }
}
#endif
