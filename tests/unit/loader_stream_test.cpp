// The stream of batches: the same for any workers, formats and restarts; every sample as often as promised.
#include <algorithm>
#include <map>
#include <thread>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/random.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/loader_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

const std::string& first_format() {
  static const std::string k_name{formats().front()->name};
  return k_name;
}

}  // namespace

TEST_CASE("The stream is the same for any number of workers, as threads or processes, in every format") {
  const ImageSource images(90);
  const TempDir dir;
  std::vector<std::uint64_t> expected;
  for (const std::string& format : formats_on_disk()) {
    const std::string pack = pack_images(images, dir / format, format, 20);
    if (expected.empty()) {
      Loader loader(pack, small_batches(0));
      expected = epochs(loader, 2);
      REQUIRE(expected.size() == 24);
      REQUIRE(expected[0] != expected[12]);
    }
    for (const unsigned workers : {0u, 1u, 2u, 3u, 7u}) {
      for (const WorkerMode mode : {WorkerMode::threads, WorkerMode::processes}) {
        INFO(format << ", workers " << workers);
        LoaderOptions options = small_batches(workers, mode);
        options.direct_io = workers == 3;
        options.large_transfers = workers == 2;
        Loader loader(pack, options);
        CHECK(epochs(loader, 2) == expected);
      }
    }
  }
}

TEST_CASE("A state taken after any batch goes on with the batches that were left, by other workers too") {
  const ImageSource images(50);
  const TempDir dir;
  const std::string pack = pack_images(images, dir / "pack", first_format(), 20);
  Loader whole(pack, small_batches(0));
  const std::vector<std::uint64_t> expected = epochs(whole, 2);
  for (std::size_t stop = 0; stop <= 7; ++stop) {
    Loader before(pack, small_batches(2, WorkerMode::threads));
    std::vector<std::uint64_t> got;
    for (std::size_t i = 0; i < stop; ++i) got.push_back(digest(*before.next()));
    Loader after(pack, small_batches(stop % 3, WorkerMode::threads));
    after.load_state(before.state());
    CHECK(after.size() == 7 - stop);
    for (const std::uint64_t one : epochs(after, 2)) got.push_back(one);
    CHECK(got == expected);
  }
}

TEST_CASE("An epoch can be asked for in any order, and what was made ahead for another one is dropped") {
  const ImageSource images(40);
  const TempDir dir;
  const std::string pack = pack_images(images, dir / "pack", first_format(), 20);
  Loader in_turn(pack, small_batches(0));
  std::vector<std::vector<std::uint64_t>> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(rest_of_epoch(in_turn));
  Loader loader(pack, small_batches(2));
  for (const std::uint64_t epoch : {2, 0, 3, 3, 1}) {
    loader.set_epoch(epoch);
    CHECK(loader.epoch() == epoch);
    CHECK(rest_of_epoch(loader) == expected[epoch]);
  }
  loader.set_epoch(0);
  REQUIRE(loader.next());
  loader.set_epoch(0);  // from the middle, back to the beginning
  CHECK(rest_of_epoch(loader) == expected[0]);
}

TEST_CASE("Batches that other threads let go of while an epoch is left do not disturb the next one") {
  const ImageSource images(60);
  const TempDir dir;
  const std::string pack = pack_images(images, dir / "pack", first_format(), 20);
  Loader in_turn(pack, small_batches(0));
  std::vector<std::vector<std::uint64_t>> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(rest_of_epoch(in_turn));
  Loader loader(pack, small_batches(2, WorkerMode::threads));
  for (std::uint64_t round = 0; round < 300; ++round) {
    std::vector<Batch> held;
    for (int i = 0; i < 3; ++i) held.push_back(*loader.next());
    std::thread other([&] { held.clear(); });
    loader.set_epoch(round % 3);
    const auto first = loader.next();
    other.join();
    REQUIRE(digest(*first) == expected[round % 3][0]);
  }
}

TEST_CASE("Workers that end with each epoch, and no reading on, change nothing") {
  const ImageSource images(40);
  const TempDir dir;
  const std::string pack = pack_images(images, dir / "pack", first_format(), 20);
  Loader usual(pack, small_batches(1));
  const auto expected = epochs(usual, 3);
  LoaderOptions options = small_batches(2);
  options.persistent_workers = false;
  options.prefetch_next_epoch = false;
  Loader loader(pack, options);
  CHECK(epochs(loader, 3) == expected);
  CHECK(loader.worker_pids().empty());
}

// The raw transform makes this a test of order, dealing and resuming alone, quick enough for many cases.
TEST_CASE("Every sample exactly once over any worlds, tails and resumes in 2000 random cases") {
  const ImageSource images(61);
  const TempDir dir;
  const std::string pack = pack_images(images, dir / "pack", first_format(), 20);
  KeyedRandom random{2026};
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t worlds[] = {1, 2, 3, 8};
    const std::uint64_t subset_size = 1 + random.below(images.size());
    std::vector<std::uint64_t> subset(subset_size);
    for (std::uint64_t i = 0; i < subset_size; ++i) subset[i] = i;
    LoaderOptions options{.workers = 0, .prefetch = 1, .seed = random.next()};
    options.transform = raw_transform();
    options.shuffle = random.below(2) == 0 ? Shuffle::full() : Shuffle::block(1 + random.below(9), 1 + random.below(4));
    const std::uint64_t tail = random.below(3);
    options.tail = static_cast<Tail>(tail);

    std::map<std::uint64_t, int> times;
    std::uint64_t padding = 0;
    LoaderState state{.epoch = random.below(5)};
    const int legs = 1 + static_cast<int>(random.below(3));
    std::uint64_t step = 0;  // of the leg that came to the end
    for (int leg = 0; leg < legs; ++leg) {
      options.world_size = worlds[random.below(4)];
      options.batch_size = static_cast<std::uint32_t>(1 + random.below(9));
      if (state.position < subset_size) step = options.world_size * options.batch_size;
      std::uint64_t stop = 0;
      LoaderState reached;
      for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
        Loader loader(pack, options, Selection::subset(subset, images.size()));
        if (leg == 0) {
          loader.set_epoch(state.epoch);
        } else {
          loader.load_state(state);
        }
        // Every rank has as many batches; all stop after the same one, the last leg after the last.
        if (options.rank == 0) stop = leg + 1 == legs ? loader.size() : random.below(loader.size() + 1);
        for (std::uint64_t i = 0; i < stop; ++i) {
          const auto batch = loader.next();
          REQUIRE(batch);
          for (std::size_t row = 0; row < batch->size(); ++row) {
            if (batch->mask()[row] != 0) {
              ++times[batch->samples()[row]];
            } else if (!batch->image(row).empty()) {
              ++padding;
            }
          }
        }
        if (options.rank > 0) REQUIRE(loader.state() == reached);
        reached = loader.state();
        if (leg + 1 == legs) REQUIRE_FALSE(loader.next());
      }
      state = reached;
    }
    INFO("round " << round);
    std::uint64_t once = 0;
    for (const auto& [sample, count] : times) {
      REQUIRE(sample < subset_size);
      REQUIRE(count == 1);
      ++once;
    }
    if (tail == static_cast<std::uint64_t>(Tail::drop)) {
      REQUIRE(subset_size - once < step);
    } else {
      REQUIRE(once == subset_size);
      REQUIRE(padding < step);
      if (tail == static_cast<std::uint64_t>(Tail::uneven)) REQUIRE(padding == 0);
    }
  }
}

TEST_CASE("Draws with replacement and repeats come out of the loader as they were selected") {
  const ImageSource images(30);
  const TempDir dir;
  const std::string pack = pack_images(images, dir / "pack", first_format(), 20);
  std::vector<double> weights(30, 0.0);
  weights[4] = 1;
  weights[9] = 3;
  Loader drawn(pack, small_batches(2), Selection::weighted(weights, 400));
  std::map<std::uint64_t, int> times;
  while (auto batch = drawn.next()) {
    for (const std::uint64_t sample : batch->samples()) ++times[sample];
  }
  CHECK(times.size() == 2);
  CHECK(times[4] + times[9] == 400);
  CHECK(times[9] > 250);

  Loader repeated(pack, small_batches(2), Selection::all(30).repeated(3));
  std::map<std::uint64_t, std::vector<Region>> crops;
  while (auto batch = repeated.next()) {
    for (std::size_t i = 0; i < batch->size(); ++i) {
      if (batch->mask()[i] != 0) crops[batch->samples()[i]].push_back(batch->draw(i).crop);
    }
  }
  CHECK(crops.size() == 30);
  std::size_t varied = 0;
  for (const auto& [sample, of_sample] : crops) {
    CHECK(of_sample.size() == 3);
    varied += of_sample[0] != of_sample[1] || of_sample[1] != of_sample[2];
  }
  CHECK(varied >= 29);  // each copy has a draw of its own
}
