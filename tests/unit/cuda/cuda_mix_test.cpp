#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "bale/loader/transform/mix_draw.hpp"
#include "bale/tests/unit/cuda/cuda_support.hpp"

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

namespace {

constexpr std::uint32_t k_mixed_side = 16;
constexpr std::size_t k_values = std::size_t{3} * k_mixed_side * k_mixed_side;  // of an image: three planes of floats

/// All batches of a loader that mixes, with the arrays that only mixing has. One entry per batch.
struct MixedBatches {
  std::vector<Snapshot> batches{};
  std::vector<std::vector<std::int64_t>> partners{};
  std::vector<std::vector<float>> shares{};
};

MixedBatches mixed_epochs(const std::string& pack, const LoaderOptions& options, const MixOptions& mix,
                          int num_epochs) {
  const FakeDevice device;
  CudaLoader loader(pack, options, {.mix = mix});
  const auto context = Context::open(0);
  Trainer trainer(context);
  MixedBatches mixed;
  const auto fetch = [&](auto& to, const void* from) {
    const cuda_detail::Current current(*context);
    context->driver().check(context->driver().cuMemcpyDtoHAsync_v2(
                                to.data(), reinterpret_cast<cuda_detail::DevicePointer>(from), to.size() * sizeof to[0],
                                static_cast<cuda_detail::StreamHandle>(trainer.stream())),
                            "read");
  };
  for (int epoch = 0; epoch < num_epochs; ++epoch) {
    while (const auto batch = loader.next(trainer.stream())) {
      trainer.step(*batch);
      mixed.partners.emplace_back(batch->size());
      mixed.shares.emplace_back(batch->size());
      fetch(mixed.partners.back(), batch->partner_labels());
      fetch(mixed.shares.back(), batch->shares());
    }
  }
  mixed.batches = trainer.finish();
  return mixed;
}

std::vector<float> mixed_image(const Snapshot& batch, std::size_t row) {
  std::vector<float> pixels(k_values);
  std::memcpy(pixels.data(), batch.images.data() + row * k_values * 4, k_values * 4);
  return pixels;
}

bool has_no_image(const Snapshot& batch, std::size_t row) {
  const auto pixels = mixed_image(batch, row);
  return std::all_of(pixels.begin(), pixels.end(), [](float value) { return value == 0; });
}

/// The nearest row before `row` that has an image; the last row comes before the first one. `row` if no other row has
/// one.
std::size_t partner_of(const Snapshot& batch, std::size_t row) {
  const std::size_t rows = batch.samples.size();
  std::size_t partner = row;
  do partner = (partner + rows - 1) % rows;
  while (has_no_image(batch, partner) && partner != row);
  return partner;
}

std::vector<float> mixed_image(const std::vector<float>& own, const std::vector<float>& other, const MixDraw& draw) {
  std::vector<float> mixed = own;
  for (std::size_t at = 0; at < k_values; ++at) {
    const std::size_t x = at % k_mixed_side;
    const std::size_t y = at / k_mixed_side % k_mixed_side;
    if (!draw.pastes) {
      const volatile float own_part = static_cast<float>(draw.share) * own[at];  // each step is rounded by itself
      const volatile float other_part = static_cast<float>(1 - draw.share) * other[at];
      mixed[at] = own_part + other_part;
    } else if (x >= draw.left && x < draw.right && y >= draw.top && y < draw.bottom) {
      mixed[at] = other[at];
    }
  }
  return mixed;
}

/// Compares a row of batch `b` with what `draw` makes of `plain`, the same batch without mixing.
void check_row(const MixedBatches& mixed, std::size_t b, std::size_t row, const Snapshot& plain, const MixDraw& draw) {
  const std::size_t partner = partner_of(plain, row);
  const bool mixes = partner != row && !has_no_image(plain, row) && draw.share < 1;
  CHECK(mixed.shares[b][row] == (mixes ? static_cast<float>(draw.share) : 1));
  if (mixes) CHECK(mixed.partners[b][row] == plain.labels[partner]);
  const auto own = mixed_image(plain, row);
  const auto expected = mixes ? mixed_image(own, mixed_image(plain, partner), draw) : own;
  const auto got = mixed_image(mixed.batches[b], row);
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < k_values; ++at) wrong += got[at] != expected[at];
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("A loader mixes each image with the one before it that is there, and says with which label and share") {
  const Pack pack(21, {5, 6});
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.transform = float_transform(DType::float32, PixelLayout::nchw, k_mixed_side);
  options.on_bad_sample = OnBadSample::skip;
  options.tail = Tail::uneven;
  Loader host(pack.path, options);
  const auto plain = snapshots(host, 4);
  for (const MixOptions& mix : {MixOptions{.mixup_alpha = 0.8}, MixOptions{.cutmix_alpha = 1}}) {
    const MixedBatches mixed = mixed_epochs(pack.path, options, mix, 4);
    REQUIRE(mixed.batches.size() == plain.size());
    for (std::size_t b = 0; b < plain.size(); ++b) {
      const MixDraw draw =
          draw_mix(mix, {options.seed, plain[b].epoch, plain[b].samples[0]}, k_mixed_side, k_mixed_side);
      for (std::size_t row = 0; row < plain[b].samples.size(); ++row) check_row(mixed, b, row, plain[b], draw);
    }
  }
}
