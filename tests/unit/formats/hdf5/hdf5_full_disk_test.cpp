// A file that may not grow: an error that names path and errno, wherever it strikes, and a process that continues
// and exits as usual (the library's own handling of failed writes crashes, so each case is a child process).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/unit/formats/hdf5/hdf5_support.hpp"

using namespace bale;
using namespace bale::test;

// A file whose writes failed is left open on purpose; LeakSanitizer reads this name where it is linked in.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

std::vector<OwnedSample> samples_for(const std::string& layout) {
  std::vector<OwnedSample> samples;
  for (std::uint32_t i = 0; i < 200; ++i) {
    OwnedSample sample{std::to_string(i), i, {{"cls", std::to_string(i)}, {"json.zst", random_bytes(50, i)}}};
    if (layout.ends_with("array")) {
      sample.fields.push_back({"png", png_of(random_image(20, 20, i))});
    } else {
      sample.fields.push_back({"jpg", random_bytes(1000, i)});
    }
    sample.sort_fields();
    samples.push_back(std::move(sample));
  }
  return samples;
}

enum Verdict { k_failed_well = 0, k_succeeded = 1, k_wrong_error = 2, k_no_recovery = 3 };

Verdict pack_below(std::uint64_t limit, const TempDir& directory, const std::string& layout,
                   const std::vector<OwnedSample>& samples) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit low{.rlim_cur = limit, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &low);
  Verdict verdict = k_succeeded;
  try {
    pack_shard(directory / "small.h5", samples, settings_of(layout));
  } catch (const Error& error) {
    const bool named = error.code() == ErrorCode::io && std::strstr(error.what(), "small.h5") != nullptr &&
                       std::strstr(error.what(), "File too large") != nullptr;
    verdict = named ? k_failed_well : k_wrong_error;
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  const std::string path = directory / "next.h5";
  const ShardIndex index = pack_shard(path, samples, settings_of(layout));
  return read_all(path, index).size() == samples.size() ? verdict : k_no_recovery;
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "a file that may not grow is an error with errno, and the process goes on") {
  const std::string layout = GENERATE("blob", "vlen", "array", "deflated array");
  const std::vector<OwnedSample> samples = samples_for(layout);
  pack_shard(dir / "whole.h5", samples, settings_of(layout));
  const std::uint64_t whole = File::open_read(dir / "whole.h5").size();
  for (std::uint64_t part = 0; part <= 24; ++part) {
    const std::uint64_t limit = part == 24 ? whole + 8192 : whole * part / 24;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) std::exit(pack_below(limit, dir, layout, samples));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CAPTURE(layout, limit, whole, status);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (part == 24 ? k_succeeded : k_failed_well));
  }
}
