// Children of fork(), and too little memory or too few threads: no program hangs or ends.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/watched_run.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/read_in_order.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"
#include "bale/writer/source/source.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using namespace bale::test;
namespace fs = std::filesystem;

namespace {

bool g_is_child = false;

/// Runs `work` in a child of fork(). Returns its exit code; 255 if it did not end within a minute, or by a signal.
template <typename Work>
int in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    g_is_child = true;
    work();
    std::exit(0);
  }
  for (int i = 0; i < 1200; ++i) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return 255;
}

std::atomic<int> g_threads_left{1 << 30};

/// While it exists, the system starts no more than this many threads.
class FewThreads {
 public:
  explicit FewThreads(int count) { g_threads_left = count; }
  ~FewThreads() { g_threads_left = 1 << 30; }
};

std::uint64_t address_space() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

/// In place of the C library's, which libstdc++ calls.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
  if (g_threads_left.fetch_sub(1) <= 0) return EAGAIN;
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, run, argument);
}

/// LeakSanitizer asks. What a child leaves to its parent is not a leak.
extern "C" int __lsan_is_turned_off() { return g_is_child ? 1 : 0; }

TEST_CASE("A child of fork() that ends by exit() leaves loaders and datasets to its parent") {
  const Pack pack(40);
  const unsigned workers = GENERATE(0u, 2u);
  const auto mode = GENERATE(WorkerMode::processes, WorkerMode::threads);
  static std::optional<Loader> loader;
  static std::optional<Batch> batch;
  static std::optional<Dataset> dataset;
  loader.emplace(pack.path, small_batches(workers, mode));
  batch = loader->next();
  dataset = Dataset::open(pack.path, {.counting = Counting::while_read});
  CHECK(in_child([] {}) == 0);                  // static objects are destroyed
  CHECK(in_child([] { batch.reset(); }) == 0);  // or before
  CHECK(in_child([] {
          dataset.reset();
          loader.reset();
        }) == 0);
  batch.reset();
  CHECK(rest_of_epoch(*loader).size() == 4);
  loader.reset();
  dataset.reset();
}

TEST_CASE("As many threads work as the system starts; without any it is an error") {
  const Pack pack(40);
  const std::uint64_t num_batches = 5;
  for (const int threads : {0, 1, 2, 3}) {
    const FewThreads few(threads);
    Loader loader(pack.path, small_batches(4, WorkerMode::threads));
    std::uint64_t found = 0;
    const auto error = thrown_by([&] {
      while (loader.next()) ++found;
    });
    CHECK(error.has_value() == (threads == 0));
    if (error) CHECK(error->code() == ErrorCode::out_of_memory);
    CHECK(found == (threads == 0 ? 0 : num_batches));
  }
  const FewThreads few(0);
  CHECK(error_of([&] { (void)Loader(pack.path, small_batches(1)).next(); }).code() == ErrorCode::out_of_memory);
  CHECK(error_of([] { run_watched([](Progress&) { return 1; }, {}); }).code() == ErrorCode::out_of_memory);
  const Dataset dataset = Dataset::open(pack.path);
  std::atomic<std::uint64_t> num_read{0};
  read_in_order(dataset, EpochOrder(Selection::all(40), Shuffle::none(), 0), 0, 40, {.jobs = 4},
                [&](const SampleView&) { ++num_read; });
  CHECK(num_read == 40);
  const TempDir dir;
  fs::create_directories(dir / "in/a");
  spit(dir / "in/a/1.ppm", "P6 1 1 255 abc");
  CHECK(open_folder_source(dir / "in", {})->size() == 1);
  Writer writer({.pack = {.destination = dir / "packed"}});
  Scratch scratch;
  writer.add("a", pack.images.read(0, scratch).fields);
  CHECK(error_of([&] { writer.close(); }).code() == ErrorCode::out_of_memory);
}

TEST_CASE("An order of more samples than there are is an error, not the end of the program") {
  const Pack pack(20);
  const Dataset dataset = Dataset::open(pack.path);
  for (const unsigned jobs : {1u, 4u}) {
    CHECK(error_of([&] {
            read_in_order(dataset, EpochOrder(Selection::all(21), Shuffle::none(), 0), 0, 21, {.jobs = jobs},
                          [](const SampleView&) {});
          }).code() == ErrorCode::invalid_argument);
  }
}

TEST_CASE("Too little memory in threads is an error of next()") {
  const Pack pack(40);
  for (const std::uint64_t mebibytes : {1, 4, 10, 20, 40, 80, 160, 320}) {
    const int code = in_child([&] {
      Loader loader(pack.path, small_batches(6, WorkerMode::threads));
      const rlimit limit{.rlim_cur = address_space() + (mebibytes << 20), .rlim_max = RLIM_INFINITY};
      if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(9);
      int found = 0;
      try {
        while (loader.next()) {
        }
      } catch (const Error& error) {
        found = error.code() == ErrorCode::out_of_memory ? 0 : 3;
      }
      std::_Exit(found);
    });
    CHECK(code == 0);
  }
}
