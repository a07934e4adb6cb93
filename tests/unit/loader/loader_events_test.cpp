// What a program asks of a Loader that runs: to stop, to report what happens, and to stay within its memory.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/tired_scheme.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

using Kind = LoaderEvent::Kind;

/// One worker, in stored order, that fails at every sample of shard 1, or at the first one if `once` is named.
class FaultyAtEnd {
 public:
  explicit FaultyAtEnd(const char* fault, const std::string& once = {}) {
    ::setenv("BALE_FAULT", fault, 1);
    ::setenv("BALE_FAULT_SHARD", "1", 1);
    if (once.empty()) return;
    std::ofstream(once).put('x');
    ::setenv("BALE_FAULT_ONCE", once.c_str(), 1);
  }
  ~FaultyAtEnd() {
    for (const char* const name : {"BALE_FAULT", "BALE_FAULT_SHARD", "BALE_FAULT_ONCE"}) ::unsetenv(name);
  }
  static LoaderOptions options() {
    LoaderOptions options = small_batches(1);
    options.worker_program = BALE_TEST_FAULTY_WORKER;
    options.shuffle = Shuffle::none();
    return options;
  }
};

std::vector<Kind> kinds_of(const std::vector<LoaderEvent>& events) {
  std::vector<Kind> kinds;
  for (const LoaderEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

}  // namespace

TEST_CASE("Another thread ends the wait of next(), and nothing is lost") {
  const Pack pack(21);  // shard 1 holds sample 20 alone, of the third batch
  const FaultyAtEnd hangs("hang");
  LoaderOptions options = FaultyAtEnd::options();
  options.stall_timeout_s = 0;
  Loader loader(pack.path, options);
  for (int i = 0; i < 2; ++i) CHECK(loader.next()->size() == 8);
  const LoaderState state = loader.state();
  for (int i = 0; i < 2; ++i) {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      loader.request_stop();
    });
    CHECK(error_of([&] { (void)loader.next(); }).code() == ErrorCode::interrupted);
    other.join();
    CHECK(loader.state() == state);
  }
}

TEST_CASE("A stop that was requested before ends one call of next()") {
  const Pack pack(40);
  Loader expected(pack.path, small_batches(0));
  const auto digests = rest_of_epoch(expected);
  const unsigned workers = GENERATE(0u, 2u);
  Loader loader(pack.path, small_batches(workers, WorkerMode::threads));
  std::vector<std::uint64_t> found{digest(*loader.next())};
  loader.request_stop();
  loader.request_stop();
  CHECK(error_of([&] { (void)loader.next(); }).code() == ErrorCode::interrupted);
  for (const std::uint64_t one : rest_of_epoch(loader)) found.push_back(one);
  CHECK(found == digests);
}

TEST_CASE("A Loader reports what happens to its workers and samples, to the thread that calls it") {
  const Pack pack(21);
  LoaderOptions options = FaultyAtEnd::options();
  options.on_bad_sample = OnBadSample::skip;
  std::vector<LoaderEvent> events;
  std::optional<Loader> loader;
  options.on_event = [&, caller = std::this_thread::get_id()](const LoaderEvent& event) {
    CHECK(std::this_thread::get_id() == caller);
    CHECK(loader->counters().workers_replaced <= 2);  // it may use the Loader
    CHECK_FALSE(event.reason.empty());
    // A worker may hold two rows. Of those that are made again, only the faulty one is of interest here.
    if (event.kind == Kind::sample_retried && event.sample != 20) return;
    if (event.kind != Kind::worker_replaced) CHECK((event.sample == 20 && event.key == "image20"));
    events.push_back(event);
  };
  SECTION("A crash that is survived") {
    const FaultyAtEnd crashes("segv", pack.dir / "once");
    loader.emplace(pack.path, options);
    CHECK(rest_of_epoch(*loader).size() == 3);
    CHECK(kinds_of(events) == std::vector{Kind::worker_replaced, Kind::sample_retried});
  }
  SECTION("A sample that always crashes") {
    const FaultyAtEnd crashes("segv");
    loader.emplace(pack.path, options);
    CHECK(rest_of_epoch(*loader).size() == 3);
    CHECK(kinds_of(events) ==
          std::vector{Kind::worker_replaced, Kind::sample_retried, Kind::worker_replaced, Kind::bad_sample});
  }
}

TEST_CASE("A bad sample is reported once, also if next() throws for it") {
  const Pack pack(21, {3});
  LoaderOptions options = small_batches(1, WorkerMode::threads);
  options.shuffle = Shuffle::none();
  int events = 0;
  options.on_event = [&](const LoaderEvent& event) { events += event.kind == Kind::bad_sample && event.sample == 3; };
  Loader loader(pack.path, options);
  for (int i = 0; i < 2; ++i) CHECK(error_of([&] { (void)loader.next(); }).code() == ErrorCode::unsupported);
  CHECK(events == 1);
}

TEST_CASE("What on_event throws comes from next(), which then returns the same batch") {
  const Pack pack(40, {3, 30});
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.on_bad_sample = OnBadSample::skip;
  Loader expected(pack.path, options);
  options.on_event = [](const LoaderEvent& event) { throw std::runtime_error(event.key); };
  Loader loader(pack.path, options);
  std::vector<std::uint64_t> found;
  int thrown = 0;
  for (;;) {
    try {
      const auto batch = loader.next();
      if (!batch) break;
      found.push_back(digest(*batch));
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  CHECK(thrown == 2);
  CHECK(found == rest_of_epoch(expected));
}

TEST_CASE("What next() calls cannot take the batch away for which next() waits") {
  const Pack pack(40, {3, 30});
  const unsigned workers = GENERATE(0u, 2u);
  LoaderOptions options = small_batches(workers, WorkerMode::threads);
  options.on_bad_sample = OnBadSample::skip;
  Loader expected(pack.path, options);
  const auto digests = rest_of_epoch(expected);
  std::optional<Loader> loader;
  int refused = 0;
  const auto try_all = [&] {
    const LoaderState state = loader->state();
    for (const std::function<void()>& call : std::initializer_list<std::function<void()>>{
             [&] { (void)loader->next(); }, [&] { loader->set_epoch(5); }, [&] { loader->load_state(state); }}) {
      const Error error = error_of(call);
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(), ContainsSubstring("while next() of this loader runs"));
      ++refused;
    }
  };
  options.on_event = [&](const LoaderEvent&) { try_all(); };
  loader.emplace(pack.path, options);
  std::vector<std::uint64_t> found;
  while (const auto batch = loader->next(try_all)) found.push_back(digest(*batch));
  CHECK(found == digests);
  CHECK(refused >= 6);
  loader->set_epoch(0);
  CHECK(rest_of_epoch(*loader) == digests);
}

TEST_CASE("Requests to the storage that are made again are events") {
  const Pack pack(21);
  ::setenv("BALE_CACHE_DIR", (pack.dir / "cache").c_str(), 1);
  static const bool is_added = (add_tired_scheme(), true);
  REQUIRE(is_added);
  const bool is_program = GENERATE(false, true);
  LoaderOptions options = is_program ? FaultyAtEnd::options() : small_batches(GENERATE(0u, 1u), WorkerMode::threads);
  options.read_ahead_bytes = 0;
  LoaderOptions local = options;
  local.workers = 0;
  Loader expected(pack.path, local);
  std::vector<LoaderEvent> events;
  options.on_event = [&](const LoaderEvent& event) { events.push_back(event); };
  Loader loader("tired://" + pack.path, options);
  std::optional<FaultyAtEnd> tired;
  if (is_program) {
    tired.emplace("tired");
  } else {
    tired_requests = 1;
  }
  CHECK(rest_of_epoch(loader) == rest_of_epoch(expected));
  REQUIRE_FALSE(events.empty());
  for (const LoaderEvent& event : events) {
    CHECK(event.kind == Kind::storage_retried);
    CHECK_THAT(event.reason, ContainsSubstring("tired:///") && ContainsSubstring("the server is tired"));
  }
  ::unsetenv("BALE_CACHE_DIR");
}

TEST_CASE("memory_bytes lowers prefetch, or is refused by name") {
  const Pack pack(40);
  LoaderOptions options = small_batches(1, WorkerMode::threads);
  const std::uint64_t batch_bytes = 8 * 32 * 32 * 3;
  options.prefetch = 16;
  options.memory_bytes = 16 * batch_bytes;
  CHECK(Loader(pack.path, options).options().prefetch == 16);
  options.memory_bytes = 5 * batch_bytes + 1;
  Loader loader(pack.path, options);
  CHECK(loader.options().prefetch == 5);
  CHECK(loader.pixel_memory().size() == 5 * batch_bytes);
  CHECK(rest_of_epoch(loader).size() == 5);
  options.memory_bytes = 3 * batch_bytes - 1;
  const Error error = error_of([&] { Loader(pack.path, options); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK_THAT(error.what(), ContainsSubstring("memory_bytes of 73727: the least is 3 batches of 24576 bytes"));
}
