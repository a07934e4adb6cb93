// What a process leaves in the directory of the cache that was killed while it made one of its files.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/storage/cache/cache_directory.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale {
namespace {

/// A temporary file in `directory` of a process that was killed before it gave the file its name.
std::string left_by_a_killed_process(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    File::create(join_path(directory, temporary_name()));
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  return stale_temporaries(directory).at(0);
}

CacheSettings settings_in(const test::TempDir& dir) {
  return {.directory = (dir / "cache"), .limit_bytes = CacheDirectory::k_least_limit};
}

}  // namespace

TEST_CASE("temporary files of a killed process are removed when the cache is opened", "[cache]") {
  const test::TempDir dir;
  const CacheDirectory first(settings_in(dir));
  const std::string left = join_path(first.path(), left_by_a_killed_process(first.path()));
  REQUIRE(path_exists(left));
  const CacheDirectory second(settings_in(dir));
  CHECK_FALSE(path_exists(left));
}

TEST_CASE("temporary files of a killed process are removed when the cache is trimmed", "[cache]") {
  const test::TempDir dir;
  CacheDirectory cache(settings_in(dir));
  const std::string left = join_path(cache.path(), left_by_a_killed_process(cache.path()));
  REQUIRE(path_exists(left));
  cache.trim(0);
  CHECK_FALSE(path_exists(left));
}

TEST_CASE("a cache of very many files is counted once per start of the machine, or if its limit is near", "[cache]") {
  constexpr std::size_t k_many = 20'001;
  const test::TempDir dir;
  const CacheSettings settings = settings_in(dir);
  const std::string files = CacheDirectory(settings).files();
  for (std::size_t i = 0; i < k_many; ++i) File::create(join_path(files, fmt::format("{}", i)));
  const auto add = [&](const std::string& name, std::uint64_t bytes) {
    File::create(join_path(files, name)).write_at(0, std::vector<std::byte>(bytes, std::byte{1}));
  };
  add("first", 1 << 20);
  const std::uint64_t before = CacheDirectory(settings).used_bytes();
  CHECK(before < 1 << 20);  // what is added by hand is not known
  const std::uint64_t counted = CacheDirectory(settings, true).used_bytes();
  CHECK(counted >= before + (1 << 20));
  add("second", 1 << 20);
  CHECK(CacheDirectory(settings).used_bytes() == counted);
  add("third", CacheDirectory::k_least_limit / 4 * 3);
  CacheDirectory(settings, true);
  add("fourth", 1 << 20);
  CHECK(CacheDirectory(settings).used_bytes() >= counted + (2 << 20) + CacheDirectory::k_least_limit / 4 * 3);
}

}  // namespace bale
