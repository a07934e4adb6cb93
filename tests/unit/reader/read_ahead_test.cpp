// Reading ahead: which requests are made of samples, and how far ahead of the readers they go.
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "bale/formats/base/file_range.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/reader/dataset/read_requests.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/read_ahead.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/fake_source.hpp"
#include "bale/tests/support/pack_images.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_size = 100;

/// 100 samples of about 1.3 KB in shards of 20.
struct Packed {
  test::TempDir dir;
  Dataset dataset =
      Dataset::open(test::pack_images(test::FakeSource(k_size), dir / "packed", formats().front()->name, 20));
};

/// The deliveries to come, and how far they have been asked for.
class Stream {
 public:
  std::optional<UpcomingSample> operator()(std::uint64_t n) {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    if (n >= end_) return std::nullopt;
    reached_ = std::max(reached_, n + 1);
    return UpcomingSample{n % k_size, window_size_ == 0 ? std::nullopt : std::optional(n / window_size_)};
  }

  void set_end(std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
  }
  void set_windows(std::uint64_t size) { window_size_ = size; }

  /// Waits until delivery `n` - 1 has been asked for; false after far too long.
  bool reaches(std::uint64_t n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return reached_ >= n; });
  }
  std::uint64_t reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
  }

  ReadAhead::Upcoming function() {
    return [this](std::uint64_t n) { return (*this)(n); };
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t end_ = ~std::uint64_t{0};
  std::uint64_t window_size_ = 0;
  std::uint64_t reached_ = 0;
};

std::uint64_t bytes_of(const Dataset& dataset, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t bytes = 0;
  std::vector<ReadRequest> requests;
  for (std::uint64_t n = begin; n < end; ++n) bytes += locate_reads(dataset, n % k_size, requests);
  return bytes;
}

}  // namespace

TEST_CASE("ranges that touch or nearly touch are merged", "[read_ahead]") {
  const auto merged = [](std::vector<FileRange> ranges, std::uint64_t gap) {
    merge_ranges(ranges, gap);
    return ranges;
  };
  CHECK(merged({}, 0).empty());
  CHECK(merged({{10, 5}, {0, 10}}, 0) == std::vector<FileRange>{{0, 15}});
  CHECK(merged({{0, 10}, {11, 5}}, 0) == std::vector<FileRange>{{0, 10}, {11, 5}});
  CHECK(merged({{11, 5}, {0, 10}}, 1) == std::vector<FileRange>{{0, 16}});
  CHECK(merged({{0, 100}, {20, 10}, {90, 20}, {90, 5}}, 0) == std::vector<FileRange>{{0, 110}});
  CHECK(merged({{5, 0}, {5, 0}}, 0) == std::vector<FileRange>{{5, 0}});
  constexpr std::uint64_t k_end = ~std::uint64_t{0};
  CHECK(merged({{0, 1}, {k_end - 4, 4}}, 7) == std::vector<FileRange>{{0, 1}, {k_end - 4, 4}});
  CHECK(merged({{0, 1}, {k_end - 4, 4}}, k_end) == std::vector<FileRange>{{0, k_end}});
}

TEST_CASE("a block of neighbors is one request a shard", "[read_ahead]") {
  const Packed packed;
  std::vector<ReadRequest> requests;
  std::uint64_t bytes = 0;
  for (const std::uint64_t sample : {23, 25, 18, 19, 21, 24, 22, 17, 20}) {
    bytes += locate_reads(packed.dataset, sample, requests);
  }
  merge_reads(requests);
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].shard == 0);
  CHECK(requests[1].shard == 1);
  CHECK(requests[0].range.length + requests[1].range.length >= bytes);
  // Samples far apart stay apart when no gap is allowed.
  requests.clear();
  locate_reads(packed.dataset, 0, requests);
  locate_reads(packed.dataset, 10, requests);
  merge_reads(requests, 0);
  CHECK(requests.size() >= 2);
}

TEST_CASE("reading ahead stays within its window and continues as samples are consumed", "[read_ahead]") {
  const Packed packed;
  constexpr std::uint64_t k_window = 20000;
  constexpr std::uint64_t k_group = 4;
  Stream stream;
  ReadAhead ahead(packed.dataset, stream.function(), {.window_bytes = k_window, .group_samples = k_group});
  for (std::uint64_t consumed = 0; consumed < 250; consumed += 10) {
    ahead.consumed(consumed);
    // At least what the window holds less the step in which it is topped up, at most a group more than it holds.
    std::uint64_t least = consumed;
    while (bytes_of(packed.dataset, consumed, least + 1) < k_window * 3 / 4) ++least;
    REQUIRE(stream.reaches(least));
    std::uint64_t most = consumed;
    while (bytes_of(packed.dataset, consumed, most) < k_window) ++most;
    REQUIRE(stream.reached() <= most + 2 * k_group);
  }
}

TEST_CASE("readers that are faster than the requests are caught up with", "[read_ahead]") {
  const Packed packed;
  Stream stream;
  ReadAhead ahead(packed.dataset, stream.function(), {.window_bytes = 5000, .group_samples = 2});
  ahead.consumed(1'000'000'000);
  CHECK(stream.reaches(1'000'000'001));
  ahead.consumed(5);  // going back changes nothing
  ahead.consumed(2'000'000'000);
  CHECK(stream.reaches(2'000'000'001));
}

TEST_CASE("what is not known yet is asked for again", "[read_ahead]") {
  const Packed packed;
  Stream stream;
  stream.set_end(3);
  ReadAhead ahead(packed.dataset, stream.function(), {});
  REQUIRE(stream.reaches(3));
  stream.set_end(6);
  ahead.consumed(1);
  REQUIRE(stream.reaches(6));
  stream.set_end(0);
  ahead.consumed(6);
}

TEST_CASE("a window of the order is planned as one group", "[read_ahead]") {
  const Packed packed;
  Stream stream;
  stream.set_windows(30);
  ReadAhead ahead(packed.dataset, stream.function(), {.window_bytes = 60000, .group_samples = 1});
  // Two windows of 30 are more than there is room for: the second is planned, and its end is found by the third's
  // first.
  REQUIRE(stream.reaches(61));
  CHECK(stream.reached() == 61);
}

TEST_CASE("shards that are gone do not end reading ahead", "[read_ahead]") {
  const Packed packed;
  for (const std::size_t shard : {0, 1, 2}) std::filesystem::remove(packed.dataset.shard_path(shard));
  Stream stream;
  stream.set_end(k_size);
  ReadAhead ahead(packed.dataset, stream.function(), {});
  CHECK(stream.reaches(k_size));
}

TEST_CASE("samples that cannot be located fill the window too, so that an endless order is not walked forever",
          "[read_ahead]") {
  const Packed packed;
  for (std::size_t shard = 0; shard < packed.dataset.num_shards(); ++shard)
    std::filesystem::remove(packed.dataset.shard_path(shard));
  Stream stream;
  ReadAhead ahead(packed.dataset, stream.function(), {.window_bytes = 50 * 4096, .group_samples = 4});
  ahead.wait_until_requested(20);  // nothing was to be asked for, and nobody waits for it
  REQUIRE(stream.reaches(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(stream.reached() <= 50 + 2 * 4);
  ahead.consumed(1000);
  REQUIRE(stream.reaches(1040));
}

TEST_CASE("reading ahead stops at any time", "[read_ahead]") {
  const Packed packed;
  for (std::uint64_t round = 0; round < 50; ++round) {
    Stream stream;
    ReadAhead ahead(packed.dataset, stream.function(),
                    {.window_bytes = 1000 * (round % 7), .group_samples = round % 5});
    if (round % 3 == 0) ahead.consumed(round);
  }
  Stream never;
  const ReadAhead nothing(packed.dataset, never.function(), {.window_bytes = 0});
  CHECK(never.reached() == 0);
}

}  // namespace bale
