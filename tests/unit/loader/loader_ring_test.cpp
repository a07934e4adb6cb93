// The ring alone: many claimers, small batches, slots that move to the next batch at once. No row is lost or given out
// twice.
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "bale/loader/ring/ring.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;
using namespace bale::loader_detail;

namespace {

/// Opens batch after batch of `num_rows` in whichever slot is free, as the loader does with batches that are consumed
/// at once.
class Owner {
 public:
  Owner(Ring& ring, std::uint32_t num_rows) : ring_(ring), num_rows_(num_rows) {}

  void open(std::uint64_t batch) const {
    const auto slot = static_cast<std::uint32_t>(batch % ring_.shape().num_slots);
    for (std::uint32_t row = 0; row < num_rows_; ++row) ring_.prepare_row(slot, row, batch, RowPhase::free);
    ring_.publish(slot, batch, num_rows_);
  }
  void wait_for(std::uint64_t batch) const {
    const auto slot = static_cast<std::uint32_t>(batch % ring_.shape().num_slots);
    for (;;) {
      const std::uint32_t seen = ring_.completions();
      if (ring_.complete(slot, batch)) break;
      ring_.wait_for_completion(seen, 10'000);
    }
    ring_.set_oldest(batch + 1);
  }

 private:
  Ring& ring_;
  std::uint32_t num_rows_;
};

}  // namespace

TEST_CASE("No row is lost or claimed twice while slots move to later batches") {
  constexpr std::uint64_t k_batches = 30'000;
  for (const std::uint32_t num_rows : {1u, 3u}) {
    Ring ring = Ring::create({.num_slots = 2, .batch_size = 3, .pixel_bytes = 64, .config_bytes = 0});
    std::atomic<std::uint64_t> claimed{0};
    std::vector<std::thread> workers;
    for (std::uint32_t number = 0; number < 4; ++number) {
      workers.emplace_back([&, number] {
        while (!ring.stopped()) {
          const std::uint32_t seen = ring.publications();
          if (const auto claim = ring.claim(number)) {
            ++claimed;
            ring.finish(*claim);
          } else if (!ring.stopped()) {
            ring.wait_for_work(seen, 10'000);
          }
        }
      });
    }
    const Owner owner(ring, num_rows);
    owner.open(0);
    for (std::uint64_t batch = 0; batch < k_batches; ++batch) {
      owner.open(batch + 1);
      owner.wait_for(batch);
    }
    owner.wait_for(k_batches);
    ring.stop();
    for (std::thread& worker : workers) worker.join();
    CHECK(claimed == (k_batches + 1) * num_rows);
  }
}

TEST_CASE("A failure of the run is reported with its code, path and hint, and is not a bad sample") {
  Ring ring = Ring::create({.num_slots = 1, .batch_size = 2, .pixel_bytes = 64, .config_bytes = 0});
  const Owner owner(ring, 2);
  owner.open(0);
  const Error error(ErrorCode::io, "cannot open",
                    {.path = "s3://b/x.tar", .hint = "try again", .system_error = EACCES});
  ring.fail(*ring.claim(0), error, FaultOf::run);
  ring.fail(*ring.claim(0), Error(ErrorCode::damaged, "not an image", {.key = "k", .offset = 7}), FaultOf::sample);
  const Error failure = error_of(ring.row(0, 0), "k", "other.tar");
  CHECK(ring.row(0, 0).is_failure);
  CHECK(failure.code() == ErrorCode::io);
  CHECK(failure.context().path == "s3://b/x.tar");
  CHECK(std::string(failure.what()) == error.what());
  CHECK_FALSE(ring.row(0, 1).is_failure);
  const Error bad = error_of(ring.row(0, 1), "k", "x.tar");
  CHECK(bad.what() == std::string("not an image (key \"k\", offset 7)"));
  const Error long_one(ErrorCode::retryable, std::string(1000, 'm'),
                       {.path = std::string(1000, 'p'), .hint = std::string(1000, 'h')});
  set_error(ring.row(0, 1), long_one, FaultOf::run);
  const Error cut = error_of(ring.row(0, 1), "", long_one.context().path);
  CHECK(cut.message() == std::string(cut.message().size(), 'm'));
  CHECK(cut.context().path == long_one.context().path);
  CHECK(cut.context().hint == std::string(cut.context().hint.size(), 'h'));
  set_out_of_memory(ring.row(0, 1), "x.tar");
  CHECK(error_of(ring.row(0, 1), "", "x.tar").code() == ErrorCode::out_of_memory);
}

TEST_CASE("A closed batch is complete when the rows in hand are, and drops the others") {
  Ring ring = Ring::create({.num_slots = 1, .batch_size = 3, .pixel_bytes = 64, .config_bytes = 0});
  const Owner owner(ring, 3);
  owner.open(0);
  const auto claim = ring.claim(0);
  REQUIRE(claim);
  ring.close(0, 0);
  CHECK_FALSE(ring.complete(0, 0));
  CHECK_FALSE(ring.claim(1));
  ring.finish(*claim);
  CHECK(ring.complete(0, 0));
}

TEST_CASE("A worker that comes late cannot touch a later batch in the same slot") {
  Ring ring = Ring::create({.num_slots = 1, .batch_size = 2, .pixel_bytes = 64, .config_bytes = 0});
  const Owner owner(ring, 2);
  owner.open(0);
  const auto first = ring.claim(0);
  const auto second = ring.claim(1);
  REQUIRE((first && second));
  ring.finish(*first);
  ring.fail(*second, Error(ErrorCode::damaged, "no good"), FaultOf::sample);
  CHECK(ring.complete(0, 0));
  CHECK(std::string_view(ring.row(0, second->row).error) == "no good");
  owner.open(1);
  CHECK_FALSE(ring.complete(0, 1));
  ring.close(0, 0);  // of the batch that was there before
  CHECK(ring.claim(0));
}
