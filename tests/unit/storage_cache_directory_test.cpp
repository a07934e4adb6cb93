// What a process leaves in the directory of the cache that was killed while it made one of its files.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/temporary_file.hpp"
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

}  // namespace bale
