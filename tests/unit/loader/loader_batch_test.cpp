// Batches: shapes, leases, transforms without fixed size, and errors of use.
#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"

using namespace bale;
using namespace bale::test;

TEST_CASE("A batch has the pixels, labels and samples that the dataset has") {
  const Pack pack(20);
  LoaderOptions options = small_batches(2);
  options.shuffle = Shuffle::none();
  options.transform = val_transform(24, 24);
  Loader loader(pack.path, options);
  CHECK(loader.size() == 3);
  std::uint64_t sample = 0;
  while (const auto batch = loader.next()) {
    CHECK(batch->size() == (batch->index() < 2 ? 8u : 4u));
    CHECK(batch->pixels().size() == batch->size() * 24 * 24 * 3);
    CHECK(batch->pixels_as<std::uint8_t>().size() == batch->pixels().size());
    for (std::size_t i = 0; i < batch->size(); ++i, ++sample) {
      CHECK(batch->samples()[i] == sample);
      CHECK(batch->labels()[i] == pack.images.label(sample));
      CHECK(batch->mask()[i] == 1);
      CHECK(batch->width(i) == 24);
      Scratch scratch;
      const Image whole = decode_image(pack.images.read(sample, scratch).fields[0].bytes);
      CHECK(batch->source_width(i) == whole.width);
      const Image expected = resize_and_center_crop(whole, 24);
      const Bytes row = batch->image(i);
      CHECK(std::equal(row.begin(), row.end(), std::as_bytes(std::span(expected.rgb)).begin()));
    }
  }
  CHECK(sample == 20);
  CHECK(loader.counters().samples == 20);
}

TEST_CASE("Raw and ragged batches hold each image in its own size") {
  const Pack pack(20);
  for (const bool raw : {true, false}) {
    LoaderOptions options = small_batches(2);
    options.transform = raw ? raw_transform() : ragged_transform();
    Loader loader(pack.path, options);
    while (const auto batch = loader.next()) {
      CHECK(code_of([&] { batch->pixels(); }) == ErrorCode::invalid_argument);
      for (std::size_t i = 0; i < batch->size(); ++i) {
        Scratch scratch;
        const Bytes stored = pack.images.read(batch->samples()[i], scratch).fields[0].bytes;
        const Bytes row = batch->image(i);
        if (raw) {
          CHECK(batch->width(i) == 0);
          CHECK(std::equal(row.begin(), row.end(), stored.begin(), stored.end()));
        } else {
          const Image whole = decode_image(stored);
          CHECK(batch->width(i) == whole.width);
          CHECK(batch->height(i) == whole.height);
          const Bytes pixels = std::as_bytes(std::span(whole.rgb));
          CHECK(std::equal(row.begin(), row.end(), pixels.begin(), pixels.end()));
        }
      }
    }
  }
}

TEST_CASE("Any number of batches may be kept: beyond what the ring can spare they are copies, and outlive the loader") {
  const Pack pack(60);
  LoaderOptions options = small_batches(2);
  Loader fresh(pack.path, options);
  const auto expected = rest_of_epoch(fresh);
  for (const std::uint32_t prefetch : {2U, 3U, 4U, 7U}) {
    options.prefetch = prefetch;
    auto loader = std::make_unique<Loader>(pack.path, options);
    std::vector<Batch> kept;
    while (auto batch = loader->next()) kept.push_back(*std::move(batch));
    CHECK(loader->counters().batches_copied == expected.size() - std::max<std::size_t>(2, prefetch - 2));
    loader.reset();
    std::vector<std::uint64_t> got;
    for (const Batch& batch : kept) got.push_back(digest(batch));
    CHECK(got == expected);
  }
}

TEST_CASE("Without copies batches may be kept as long as a slot is left") {
  const Pack pack(60);
  LoaderOptions options = small_batches(2);
  options.prefetch = 3;
  options.copy_when_held = false;
  Loader fresh(pack.path, options);
  const auto expected = rest_of_epoch(fresh);
  Loader loader(pack.path, options);
  std::vector<Batch> kept;
  std::vector<std::uint64_t> got;
  for (int i = 0; i < 3; ++i) kept.push_back(*loader.next());
  CHECK(code_of([&] { (void)loader.next(); }) == ErrorCode::invalid_argument);
  for (const Batch& batch : kept) got.push_back(digest(batch));
  // Two go back, the first stays: the ring goes on around it.
  kept.erase(kept.begin() + 1, kept.end());
  for (int i = 0; i < 3; ++i) got.push_back(digest(*loader.next()));
  CHECK(got == std::vector<std::uint64_t>(expected.begin(), expected.begin() + 6));
}

TEST_CASE("Uneven tails have empty rows") {
  const Pack pack(21);
  for (const std::uint64_t rank : {0, 1}) {
    LoaderOptions options = small_batches(1);
    options.world_size = 2;
    options.rank = rank;
    options.tail = Tail::uneven;
    Loader loader(pack.path, options);
    CHECK(loader.size() == 2);
    REQUIRE(loader.next());
    const auto last = loader.next();
    REQUIRE(last);
    REQUIRE(last->size() == 3);
    CHECK(last->mask()[1] == 1);
    CHECK(last->mask()[2] == (rank == 0 ? 1 : 0));
    const Bytes row = last->pixels().subspan(2 * 32 * 32 * 3);
    CHECK(std::all_of(row.begin(), row.end(), [](std::byte byte) { return byte == std::byte{0}; }) == (rank == 1));
    CHECK(last->image(2).empty() == (rank == 1));
    CHECK((last->labels()[2] == k_no_label) == (rank == 1));
  }
}

TEST_CASE("Bad samples fail, are skipped or substituted, and each is named") {
  const Pack pack(40, {7, 19});
  LoaderOptions options = small_batches(2);

  Loader failing(pack.path, options);
  CHECK(code_of([&] { rest_of_epoch(failing); }) == ErrorCode::unsupported);
  const LoaderState stopped = failing.state();
  CHECK(code_of([&] { (void)failing.next(); }) == ErrorCode::unsupported);  // and again
  CHECK(failing.state() == stopped);
  REQUIRE(failing.bad_samples().size() == 1);
  CHECK(failing.bad_samples()[0].action == BadSample::Action::failed);

  for (const OnBadSample policy : {OnBadSample::skip, OnBadSample::substitute}) {
    options.on_bad_sample = policy;
    std::vector<std::uint64_t> expected;
    for (const unsigned workers : {0u, 1u, 3u}) {
      options.workers = workers;
      Loader loader(pack.path, options);
      std::vector<std::uint64_t> got;
      std::uint64_t rows = 0;
      std::uint64_t valid = 0;
      while (const auto batch = loader.next()) {
        got.push_back(digest(*batch));
        rows += batch->size();
        for (std::size_t i = 0; i < batch->size(); ++i) {
          valid += batch->mask()[i];
          CHECK((batch->mask()[i] == 1) == !batch->image(i).empty());
          if (policy == OnBadSample::substitute) CHECK(batch->samples()[i] != 7);
        }
      }
      CHECK(rows == 40);
      CHECK(valid == (policy == OnBadSample::skip ? 38 : 40));
      if (expected.empty()) expected = got;
      CHECK(got == expected);
      auto bad = loader.bad_samples();
      REQUIRE(bad.size() == 2);
      std::sort(bad.begin(), bad.end(), [](const auto& a, const auto& b) { return a.sample < b.sample; });
      CHECK(bad[0].key == "image7");
      CHECK(bad[1].key == "image19");
      CHECK(bad[0].shard.find("data-") != std::string::npos);
      CHECK(bad[0].reason.find("image7") != std::string::npos);
    }
  }
}

TEST_CASE("Options and states that make no sense are refused") {
  const Pack pack(20);
  const auto refused = [&](auto change) {
    LoaderOptions options = small_batches(1);
    change(options);
    return code_of([&] { Loader(pack.path, options); });
  };
  CHECK(refused([](LoaderOptions& o) { o.batch_size = 0; }) == ErrorCode::invalid_argument);
  CHECK(refused([](LoaderOptions& o) { o.prefetch = 1; }) == ErrorCode::invalid_argument);
  CHECK(refused([](LoaderOptions& o) { o.rank = 1; }) == ErrorCode::invalid_argument);
  CHECK(refused([](LoaderOptions& o) { o.workers = 100000; }) == ErrorCode::invalid_argument);
  CHECK(refused([](LoaderOptions& o) { o.transform = {}; }) == ErrorCode::invalid_argument);

  LoaderOptions options = small_batches(0);
  Loader loader(pack.path, options);
  options.seed = 6;
  CHECK(code_of([&] { Loader(pack.path, options).load_state(loader.state()); }) == ErrorCode::invalid_argument);
  options.workers = 1;
  options.worker_program = pack.dir / "nothing";
  Loader without_program(pack.path, options);
  CHECK(code_of([&] { (void)without_program.next(); }) == ErrorCode::not_found);
}

TEST_CASE("Who waits may look after something else and break off") {
  const Pack pack(20);
  for (const unsigned workers : {0U, 1U}) {
    Loader loader(pack.path, small_batches(workers));
    Loader undisturbed(pack.path, small_batches(0));
    struct BrokenOff {};
    int num_broken_off = 0;
    for (int i = 0; i < 3; ++i) {
      std::optional<Batch> batch;
      while (!batch) {
        int num_looks = 0;
        try {
          batch = loader.next([&] {
            if (++num_looks > 1 && num_broken_off < 4) throw BrokenOff{};
          });
        } catch (const BrokenOff&) {
          ++num_broken_off;
        }
      }
      CHECK(digest(*batch) == digest(*undisturbed.next()));
    }
    if (workers == 0) CHECK(num_broken_off == 4);  // without workers every sample is looked after
    CHECK(!loader.next([] { throw BrokenOff{}; }));
  }
}
