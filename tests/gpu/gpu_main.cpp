// test_gpu: tests over whichever CUDA driver this machine has. A GPU, its driver and bale-worker (BALE_WORKER) are all
// that they need: scripts/gpu/gpu_carry.sh takes the program to another machine.
//
// Prints one line per test at its end: "ok: NAME", "failed: NAME" or "skipped: NAME: WHY", the last also for a part of
// one. Exit code: 0 if all passed, 1 if not, 3 if there is no driver or no device.
#include "bale/tests/support/catch_session.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "bale/tests/gpu/gpu_support.hpp"

namespace bale::test {
namespace {

constexpr int k_failed = 1;
constexpr int k_no_device = 3;
constexpr const char* k_library = "libcuda.so.1";

std::set<std::string>& skips() {
  static std::set<std::string> all;
  return all;
}

/// Of all tests. It is kept, because some drivers take a second to open a device that nobody has open.
std::shared_ptr<const cuda_detail::Context>& kept_context() {
  static std::shared_ptr<const cuda_detail::Context> context;
  return context;
}

void open_device() {
  const auto error = thrown_by([] { kept_context() = cuda_detail::Context::open(0); });
  if (error) {
    std::fprintf(stderr, "test_gpu: %s\n", error->what());
    std::exit(k_no_device);
  }
  std::printf("device: %s\n", kept_context()->device_name().c_str());
}

class Results final : public CatchListener {
 public:
  using CatchListener::CatchListener;
  void testRunStarting(const Catch::TestRunInfo&) override { open_device(); }
  void testCaseStarting(const Catch::TestCaseInfo& test) override { print("begins", test.name); }
  void testCaseEnded(const Catch::TestCaseStats& test) override {
    const std::string& name = info_of(test).name;
    for (const std::string& why : skips()) print("skipped", name + ": " + why);
    skips().clear();
    print(test.totals.assertions.failed > 0 ? "failed" : "ok", name);
  }

 private:
  static void print(const char* result, const std::string& what) {
    std::printf("%s: %s\n", result, what.c_str());
    std::fflush(stdout);  // a crash or a hang shows where it is
  }
};
CATCH_REGISTER_LISTENER(Results)

}  // namespace

void note_skip(const std::string& why) { skips().insert(why); }

void* driver_function(const char* name) {
  void* const library = ::dlopen(k_library, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : ::dlsym(library, name);
}

Device::~Device() {
  CHECK_NOTHROW(context_->synchronize());
  using Findings = const char*();
  if (auto* const findings = reinterpret_cast<Findings*>(driver_function("fake_cuda_findings"))) {
    CHECK(std::string(findings()).empty());
  }
}

void expect_pageable_copies() {
  using Take = void();
  if (auto* const take = reinterpret_cast<Take*>(driver_function("fake_cuda_take_pageable"))) take();
}

}  // namespace bale::test

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  bale::test::kept_context().reset();
  return failed == 0 ? 0 : bale::test::k_failed;
}
