// Damaged HDF5 files: an error or an answer, never a crash and never a hang.
//
// The library parses them, so each batch of mutations runs in a child process.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/unit/formats/hdf5/hdf5_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

using Content = std::vector<std::byte>;

/// Scans and reads everything; whether that ended without an Error.
bool reads_through(const std::string& path) {
  return !thrown_by([&] { read_all(path, scan(path)); });
}

/// Runs mutate(0..count-1) on copies of `good` in child processes. Gives the mutations that ended one.
std::vector<std::size_t> survive(const Content& good, std::size_t count, const std::string& path,
                                 const std::function<Content(const Content&, std::size_t)>& mutate) {
  void* shared = ::mmap(nullptr, sizeof(std::size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto& next = *static_cast<volatile std::size_t*>(shared);
  next = 0;
  std::vector<std::size_t> fatal;
  while (next < count) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      std::signal(SIGABRT, SIG_DFL);
      std::signal(SIGSEGV, SIG_DFL);
      while (next < count) {
        ::alarm(10);
        const std::size_t mutation = next;
        File::create(path).write_at(0, mutate(good, mutation));
        reads_through(path);
        next = mutation + 1;
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    fatal.push_back(std::size_t{next});
    next = next + 1;
  }
  ::munmap(shared, sizeof(std::size_t));
  return fatal;
}

std::vector<OwnedSample> few_samples() {
  return {{"n01/a", 3, {{"cls", "3"}, {"jpg", random_bytes(300, 1)}}},
          {"n01/b", 4, {{"jpg", random_bytes(200, 2)}}},
          {"n02/c", 5, {{"cls", "5"}, {"jpg", random_bytes(100, 3)}}}};
}

Content make_shard(const std::string& path, const std::string& layout) {
  std::vector<OwnedSample> samples = few_samples();
  if (layout.ends_with("array")) {
    for (std::uint32_t i = 0; i < samples.size(); ++i) samples[i].fields = {{"png", png_of(random_image(5, 4, i))}};
  }
  pack_shard(path, samples, settings_of(layout));
  return read_file(path);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "flipped bits neither crash nor hang") {
  const std::string layout = GENERATE("blob", "vlen", "array", "deflated array");
  const Content good = make_shard(dir / "good.h5", layout);
  // Every bit of the superblock, then bits spread over the file by a step that is prime to its length.
  const std::vector<std::size_t> fatal =
      survive(good, 800, dir / "bad.h5", [](const Content& whole, std::size_t mutation) {
        Content bad = whole;
        const std::size_t bit = mutation < 48 * 8 ? mutation : mutation * 7919 % (bad.size() * 8);
        bad[bit / 8] ^= std::byte(1U << (bit % 8));
        return bad;
      });
  CAPTURE(layout, fatal);
  CHECK(fatal.empty());
}

TEST_CASE_METHOD(InTempDir, "truncated files are refused") {
  const std::string layout = GENERATE("blob", "vlen", "array", "deflated array");
  const std::string path = dir / "bad.h5";
  const Content good = make_shard(dir / "good.h5", layout);
  const std::size_t step = good.size() / 200 + 1;
  const std::vector<std::size_t> fatal =
      survive(good, good.size() / step, path, [step](const Content& whole, std::size_t mutation) {
        return Content(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(mutation * step));
      });
  CAPTURE(layout, fatal);
  REQUIRE(fatal.empty());
  for (std::size_t size = 0; size < good.size(); size += step) {
    File::create(path).write_at(0, Bytes(good).first(size));
    CHECK_FALSE(reads_through(path));
  }
}

TEST_CASE_METHOD(InHdf5Path, "blob tables that contradict the file are refused") {
  pack_shard(path, few_samples(), {});
  const Content good = read_file(path);
  // The offsets table of jpg is 0, 300, 500, 600 as little-endian 64-bit numbers.
  const auto find = [&](const std::array<std::uint64_t, 4>& table) {
    const Bytes wanted = std::as_bytes(std::span(table));
    const auto at = std::search(good.begin(), good.end(), wanted.begin(), wanted.end());
    REQUIRE(at != good.end());
    return static_cast<std::uint64_t>(at - good.begin());
  };
  const std::uint64_t at = find({0, 300, 500, 600});
  const std::array<std::uint64_t, 4> bad =
      GENERATE(std::array<std::uint64_t, 4>{0, 300, 500, 601}, std::array<std::uint64_t, 4>{0, 500, 300, 600},
               std::array<std::uint64_t, 4>{~std::uint64_t{0}, 300, 500, 600},
               std::array<std::uint64_t, 4>{0, 300, 500, std::uint64_t{1} << 63});
  File::open_update(path).write_at(at, std::as_bytes(std::span(bad)));
  CHECK_THROWS_AS(scan(path), Error);
}
