// One worker and its two lanes: which rows it fills together, and in which order it finishes them.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/loader/worker/worker.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"

using namespace bale;
using namespace bale::test;
using namespace bale::loader_detail;

namespace {

constexpr std::uint32_t k_num_rows = 40;

std::vector<std::byte> jpeg_of(std::uint32_t side) {
  Image image{.width = side, .height = side, .rgb = std::vector<std::uint8_t>(std::size_t{side} * side * 3)};
  for (std::size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<std::uint8_t>(i * i >> 5);
  return encode_jpeg(image, 80);
}

/// One batch of a large JPEG and then small ones, and a worker that fills it.
class OneWorker {
 public:
  explicit OneWorker(std::uint32_t suspect = k_num_rows) {
    std::vector<std::vector<std::byte>> images{jpeg_of(1500)};
    while (images.size() < k_num_rows) images.push_back(jpeg_of(20));
    const std::string pack =
        pack_images(ImageSource(std::move(images)), dir_ / "pack", formats().front()->name, k_num_rows);
    shard_ = std::make_unique<Shard>(open_shard(Dataset::open(pack).shard_path(0)));
    for (std::uint32_t n = 0; n < k_num_rows; ++n) {
      Row& row = ring_.row(0, n);
      row.sample_in_shard = row.sample = n;
      row.capacity = config_.options.transform.image_bytes();
      row.offset = n * row.capacity;
      ring_.prepare_row(0, n, 0, RowPhase::free);
      row.kills = n == suspect ? 1 : 0;
    }
    ring_.publish(0, 0, k_num_rows);
  }

  bool step() { return worker_.step(); }
  bool is_done(std::uint32_t row) const {
    const std::uint32_t phase = Ring::phase_of(ring_.row(0, row).state.load());
    return phase == static_cast<std::uint32_t>(RowPhase::done);
  }
  std::uint32_t num_done() const {
    std::uint32_t count = 0;
    for (std::uint32_t row = 0; row < k_num_rows; ++row) count += is_done(row) ? 1 : 0;
    return count;
  }
  bool is_busy() const { return ring_.worker(0).busy_since_ns.load() != 0; }
  void fill_until(std::uint32_t row) {
    while (!is_done(row)) REQUIRE(step());
  }
  void run() {
    worker_.run([] { return true; });
  }
  void stop() { ring_.stop(); }

 private:
  TempDir dir_;
  WorkerConfig config_ = [] {
    WorkerConfig config;
    config.options.transform = train_transform(16);
    config.options.augment_seed = 0;
    config.num_samples = k_num_rows;
    return config;
  }();
  std::unique_ptr<Shard> shard_;
  Ring ring_ = Ring::create({.num_slots = 1,
                             .batch_size = k_num_rows,
                             .pixel_bytes = k_num_rows * config_.options.transform.image_bytes(),
                             .config_bytes = 0});
  Worker worker_{ring_, config_, 0, [this](std::uint32_t, const ShardIdentity&) { return ShardInUse(shard_.get()); }};
};

}  // namespace

TEST_CASE("An image that takes long continues next to several others, but not next to all") {
  OneWorker one;
  REQUIRE(one.step());
  CHECK_FALSE(one.is_done(0));
  CHECK(one.num_done() == 1);
  CHECK(one.is_busy());
  one.fill_until(0);
  CHECK(one.num_done() > 4);
  CHECK(one.num_done() < k_num_rows / 2);
  while (one.step()) {
  }
  CHECK(one.num_done() == k_num_rows);
  CHECK_FALSE(one.is_busy());
}

TEST_CASE("A row at which a worker died is filled alone, after the one that was begun before") {
  constexpr std::uint32_t k_suspect = 3;
  OneWorker one(k_suspect);
  one.fill_until(k_suspect - 1);
  CHECK_FALSE(one.is_done(0));
  one.fill_until(k_suspect);
  CHECK(one.is_done(0));
  CHECK(one.num_done() == k_suspect + 1);
}

TEST_CASE("A worker that is stopped finishes the rows that it holds") {
  OneWorker one;
  REQUIRE(one.step());
  REQUIRE_FALSE(one.is_done(0));
  one.stop();
  one.run();
  CHECK(one.is_done(0));
  CHECK(one.num_done() == 2);
  CHECK_FALSE(one.is_busy());
}
