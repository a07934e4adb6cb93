// The stream of batches: the same for any workers, formats and restarts; every sample as often as promised.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/tier.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// Digests of the first epochs, by epoch.
std::vector<std::vector<std::uint64_t>> first_epochs(const Pack& pack, int count) {
  Loader loader(pack.path, small_batches(0));
  std::vector<std::vector<std::uint64_t>> digests;
  for (int i = 0; i < count; ++i) digests.push_back(rest_of_epoch(loader));
  return digests;
}

}  // namespace

TEST_CASE_METHOD(InTempDir,
                 "The stream is the same for any number of workers, as threads or processes, in every format") {
  const ImageSource images(90);
  std::vector<std::uint64_t> expected;
  for (const std::string& format : formats_of_files()) {
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

TEST_CASE("A state taken after any batch continues with the batches that were left, by other workers too") {
  const Pack pack(50);
  Loader whole(pack.path, small_batches(0));
  const std::vector<std::uint64_t> expected = epochs(whole, 2);
  for (std::size_t stop = 0; stop <= 7; ++stop) {
    Loader before(pack.path, small_batches(2, WorkerMode::threads));
    std::vector<std::uint64_t> got;
    for (std::size_t i = 0; i < stop; ++i) got.push_back(digest(*before.next()));
    Loader after(pack.path, small_batches(stop % 3, WorkerMode::threads));
    after.load_state(before.state());
    CHECK(after.size() == 7 - stop);
    for (const std::uint64_t one : epochs(after, 2)) got.push_back(one);
    CHECK(got == expected);
  }
}

TEST_CASE("A mixture continues after any batch, by other workers too, and with other shares where each source was") {
  const Pack pack(50);
  const std::vector<std::uint64_t> sizes{35, 15};
  const MixtureOptions options{.epoch_samples = 48, .exact_every = 8};
  const Selection mixture = Selection::mixture(sizes, {3, 1}, options);
  Loader whole(pack.path, small_batches(0), mixture);
  const std::vector<std::uint64_t> expected = epochs(whole, 2);
  for (std::size_t stop = 0; stop <= 6; ++stop) {
    Loader before(pack.path, small_batches(2, WorkerMode::threads), mixture);
    std::vector<std::uint64_t> got;
    for (std::size_t i = 0; i < stop; ++i) got.push_back(digest(*before.next()));
    Loader after(pack.path, small_batches(stop % 3, WorkerMode::threads), mixture);
    LoaderState state = before.state();
    after.load_state(state);
    for (const std::uint64_t one : epochs(after, 2)) got.push_back(one);
    CHECK(got == expected);

    MixtureOptions continued = options;
    continued.begin = state.epoch * 48 + state.position;
    continued.delivered = mixture.mixture()->delivered(state.epoch, state.position, before.options().seed);
    const Selection equal = Selection::mixture(sizes, {1, 1}, continued);
    Loader changed(pack.path, small_batches(0), equal);
    CHECK(test::throws(ErrorCode::invalid_argument, [&] { changed.load_state(state); }));
    state.fingerprint = changed.state().fingerprint;
    changed.load_state(state);
    const auto batch = changed.next();
    const bool is_first = stop < 6;  // else the epoch had ended
    CHECK(batch.has_value() == is_first);
    if (!batch) continue;
    const std::span<const std::uint64_t> samples = batch->samples();
    CHECK(std::count_if(samples.begin(), samples.end(), [](std::uint64_t sample) { return sample < 35; }) == 4);
  }
}

TEST_CASE("Each source of a mixture is made by its own transforms, as if it was read alone") {
  const Pack web(21);
  const Pack coco(9);
  const std::string both = web.path + "::" + coco.path;
  const Selection mixture = Selection::mixture({21, 9}, {1, 1}, {.epoch_samples = 40, .exact_every = 8});
  for (const std::size_t num_views : {1, 2}) {
    LoaderOptions options = small_batches(0);
    options.source_transforms = {train_transform(32), val_transform(32, 36)};
    if (num_views == 2) options.further_views = {val_transform(24)};  // checked() replaces it
    if (num_views == 2)
      options.source_transforms = {train_transform(32), val_transform(24), val_transform(32, 36), train_transform(24)};
    // By source, pass, number and view.
    using Place = std::tuple<std::size_t, std::uint64_t, std::uint64_t, std::size_t>;
    std::map<Place, std::pair<std::vector<std::byte>, Steps>> alone;
    for (const std::size_t source : {0, 1}) {
      LoaderOptions one = small_batches(0);
      one.transform = options.source_transforms[source * num_views];
      if (num_views == 2) one.further_views = {options.source_transforms[source * num_views + 1]};
      Loader loader((source == 0 ? web : coco).path, one);
      for (std::uint64_t epoch = 0; epoch < 5;) {
        const auto batch = loader.next();
        if (!batch) {
          ++epoch;
          continue;
        }
        for (std::size_t i = 0; i < batch->size(); ++i) {
          for (std::size_t view = 0; view < num_views; ++view) {
            const Bytes pixels = batch->pixels(view);
            const Bytes image = pixels.subspan(i * pixels.size() / batch->size(), pixels.size() / batch->size());
            alone[{source, epoch, batch->samples()[i], view}] = {{image.begin(), image.end()}, batch->steps(i, view)};
          }
        }
      }
    }
    for (const auto& [workers, mode] : {std::pair(0u, WorkerMode::threads), std::pair(2u, WorkerMode::threads),
                                        std::pair(2u, WorkerMode::processes)}) {
      options.workers = workers;
      options.worker_mode = mode;
      Loader loader(both, options, mixture);
      std::vector<std::uint64_t> delivered(2);
      std::vector<Batch> held;  // later ones are copies
      for (int n = 0; n < 10; ++n) {
        auto batch = loader.next();
        if (!batch) batch = loader.next();
        for (std::size_t i = 0; i < batch->size(); ++i) {
          const std::size_t source = batch->source(i);
          const DrawKey key = batch->draw_key(i);
          CHECK(key.epoch == delivered[source]++ / (source == 0 ? 21 : 9));
          CHECK(key.sample + (source == 0 ? 0 : 21) == batch->samples()[i]);
          for (std::size_t view = 0; view < num_views; ++view) {
            const auto& [image, steps] = alone.at({source, key.epoch, key.sample, view});
            const Bytes pixels = batch->pixels(view);
            CHECK(std::equal(image.begin(), image.end(), pixels.begin() + std::ptrdiff_t(i * image.size())));
            CHECK(batch->steps(i, view) == steps);
          }
        }
        held.push_back(*std::move(batch));
      }
      CHECK(held.back().is_copy());
    }
  }

  LoaderOptions options = small_batches(0);
  const auto refusal = [&](std::vector<Transform> transforms, std::optional<Selection> selection) {
    options.source_transforms = std::move(transforms);
    return test::message_of([&] { selection ? Loader(both, options, *selection) : Loader(both, options); });
  };
  CHECK(refusal({train_transform(32), val_transform(24)}, mixture)
            .find("source 1 has 24 x 24 pixels, 3 channels, uint8, nhwc, and source 0 has 32 x 32") !=
        std::string::npos);
  CHECK(refusal({train_transform(32), ragged_transform()}, mixture).find("source 1 has images of their own sizes") !=
        std::string::npos);
  CHECK(refusal({train_transform(32)}, mixture).find("source_transforms: those of 1 sources for 2") !=
        std::string::npos);
  CHECK(refusal({train_transform(32), train_transform(32)}, {}).find("for 1") != std::string::npos);
  options.further_views = {val_transform(32)};
  CHECK(refusal({train_transform(32), train_transform(32), train_transform(32)}, mixture).find("3 for 2 views") !=
        std::string::npos);
}

TEST_CASE("A substitute for a bad sample of a mixture is of the same source") {
  const Pack web(20, {3, 5, 7});
  const Pack coco(10);
  LoaderOptions options = small_batches(2);
  options.on_bad_sample = OnBadSample::substitute;
  const Selection mixture = Selection::mixture({20, 10}, {1, 3}, {.epoch_samples = 80, .exact_every = 8});
  Loader loader(web.path + "::" + coco.path, options, mixture);
  std::uint64_t replaced = 0;
  for (int n = 0; n < 10; ++n) {
    const auto batch = loader.next();
    CHECK(std::count_if(batch->samples().begin(), batch->samples().end(),
                        [](std::uint64_t sample) { return sample < 20; }) == 2);
    for (std::size_t i = 0; i < batch->size(); ++i) {
      CHECK(batch->source(i) == (batch->samples()[i] < 20 ? 0 : 1));
      replaced += batch->draw_key(i).copy != 0 ? 1 : 0;
    }
  }
  CHECK(replaced >= 3);
}

TEST_CASE("An epoch can be asked for in any order, and what was made ahead for another one is dropped") {
  const Pack pack(40);
  const auto expected = first_epochs(pack, 4);
  Loader loader(pack.path, small_batches(2));
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
  const Pack pack(60);
  const auto expected = first_epochs(pack, 3);
  Loader loader(pack.path, small_batches(2, WorkerMode::threads));
  for (std::uint64_t round = 0; round < by_tier<std::uint64_t>(300, 300, 60); ++round) {
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
  const Pack pack(40);
  Loader usual(pack.path, small_batches(1));
  const auto expected = epochs(usual, 3);
  LoaderOptions options = small_batches(2);
  options.persistent_workers = false;
  options.prefetch_next_epoch = false;
  Loader loader(pack.path, options);
  CHECK(epochs(loader, 3) == expected);
  CHECK(loader.worker_pids().empty());
}

namespace {

/// One epoch of a random part of a dataset, in one to three legs of random world and batch sizes. Each leg resumes
/// where the one before it stopped. The raw transform makes this a test of order, dealing and resuming alone, quick
/// enough for many cases.
class RandomEpoch {
 public:
  RandomEpoch(std::string dataset, std::uint64_t num_samples, KeyedRandom& random)
      : dataset_(std::move(dataset)), num_samples_(num_samples), random_(random) {
    subset_.resize(1 + random.below(num_samples));
    for (std::uint64_t i = 0; i < subset_.size(); ++i) subset_[i] = i;
    options_.seed = random.next();
    options_.transform = raw_transform();
    options_.shuffle =
        random.below(2) == 0 ? Shuffle::full() : Shuffle::block(1 + random.below(9), 1 + random.below(4));
    options_.tail = static_cast<Tail>(random.below(3));
    state_.epoch = random.below(5);
    num_legs_ = 1 + static_cast<int>(random.below(3));
  }

  void run() {
    for (int leg = 0; leg < num_legs_; ++leg) run_leg(leg == 0, leg + 1 == num_legs_);
  }

  /// Every sample exactly once, except for what the tail allows.
  void check() const {
    std::uint64_t once = 0;
    for (const auto& [sample, count] : times_) {
      REQUIRE(sample < subset_.size());
      REQUIRE(count == 1);
      ++once;
    }
    if (options_.tail == Tail::drop) {
      REQUIRE(subset_.size() - once < step_);
    } else {
      REQUIRE(once == subset_.size());
      REQUIRE(padding_ < step_);
      if (options_.tail == Tail::uneven) REQUIRE(padding_ == 0);
    }
  }

 private:
  void run_leg(bool is_first, bool is_last) {
    const std::uint64_t worlds[] = {1, 2, 3, 8};
    options_.world_size = worlds[random_.below(4)];
    options_.batch_size = static_cast<std::uint32_t>(1 + random_.below(9));
    if (state_.position < subset_.size()) step_ = options_.world_size * options_.batch_size;
    std::uint64_t stop = 0;
    LoaderState reached;
    for (options_.rank = 0; options_.rank < options_.world_size; ++options_.rank) {
      Loader loader(dataset_, options_, Selection::subset(subset_, num_samples_));
      if (is_first) {
        loader.set_epoch(state_.epoch);
      } else {
        loader.load_state(state_);
      }
      // Every rank has the same number of batches. All stop after the same one, in the last leg after the last one.
      if (options_.rank == 0) stop = is_last ? loader.size() : random_.below(loader.size() + 1);
      count_rows(loader, stop);
      if (options_.rank > 0) REQUIRE(loader.state() == reached);
      reached = loader.state();
      if (is_last) REQUIRE_FALSE(loader.next());
    }
    state_ = reached;
  }

  void count_rows(Loader& loader, std::uint64_t num_batches) {
    for (std::uint64_t i = 0; i < num_batches; ++i) {
      const auto batch = loader.next();
      REQUIRE(batch);
      for (std::size_t row = 0; row < batch->size(); ++row) {
        if (batch->mask()[row] != 0) {
          ++times_[batch->samples()[row]];
        } else if (!batch->image(row).empty()) {
          ++padding_;
        }
      }
    }
  }

  std::string dataset_;
  std::uint64_t num_samples_;
  KeyedRandom& random_;
  std::vector<std::uint64_t> subset_;
  LoaderOptions options_{.workers = 0, .prefetch = 1};
  LoaderState state_;  // where the next leg begins
  int num_legs_ = 0;
  std::map<std::uint64_t, int> times_;  // how often each sample was delivered
  std::uint64_t padding_ = 0;
  std::uint64_t step_ = 0;  // samples per step of all ranks, in the leg that came to the end
};

}  // namespace

TEST_CASE("Every sample exactly once over any worlds, tails and resumes in many random cases") {
  const Pack pack(61);
  KeyedRandom random{2026};
  for (int round = 0; round < by_tier(600, 2000, 100); ++round) {
    RandomEpoch epoch(pack.path, pack.images.size(), random);
    epoch.run();
    INFO("round " << round);
    epoch.check();
  }
}

TEST_CASE("Draws with replacement and repeats come out of the loader as they were selected") {
  const Pack pack(30);
  std::vector<double> weights(30, 0.0);
  weights[4] = 1;
  weights[9] = 3;
  Loader drawn(pack.path, small_batches(2), Selection::weighted(weights, 400));
  std::map<std::uint64_t, int> times;
  while (auto batch = drawn.next()) {
    for (const std::uint64_t sample : batch->samples()) ++times[sample];
  }
  CHECK(times.size() == 2);
  CHECK(times[4] + times[9] == 400);
  CHECK(times[9] > 250);

  Loader repeated(pack.path, small_batches(2), Selection::all(30).repeated(3));
  std::map<std::uint64_t, std::vector<Region>> crops;
  while (auto batch = repeated.next()) {
    for (std::size_t i = 0; i < batch->size(); ++i) {
      if (batch->mask()[i] == 0) continue;
      crops[batch->samples()[i]].push_back(bale::test::drawn(batch->steps(i)).crop);
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

TEST_CASE("Selections of datasets of another size are refused") {
  const Pack pack(30);
  const std::vector<double> weights(31, 1.0);
  const std::vector<std::int64_t> labels(29, 1);
  for (const Selection& selection :
       {Selection::all(29), Selection::all(31).repeated(2), Selection::subset({0, 5}, 29),
        Selection::weighted(weights, 8), Selection::class_balanced(labels, 8), Selection::mixture({20, 9}, {1, 1})}) {
    const Error error = error_of([&] { Loader(pack.path, small_batches(0), selection); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.message().find(selection.dataset_size() == 29 ? "for 29 samples" : "for 31 samples") !=
          std::string::npos);
    CHECK(error.context().path == pack.path);
  }
}
