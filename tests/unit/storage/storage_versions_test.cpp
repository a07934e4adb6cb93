// The versions of remote files that a process knows.
#include <string>

#include "bale/formats/storage/ranges/known_versions.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

FileVersion version(const std::string& etag, std::uint64_t size = 1) { return {.etag = etag, .size = size}; }

}  // namespace

TEST_CASE("A name keeps its version") {
  KnownVersions known;
  CHECK_FALSE(known.find("a"));
  CHECK(known.keep("a", version("1")));
  CHECK(known.keep("a", version("1")));
  CHECK_FALSE(known.keep("a", version("2")));
  CHECK(known.find("a") == version("1"));
}

TEST_CASE("Of files that were not used lately a fingerprint is kept, which still notices a change") {
  KnownVersions known(2, 3);
  for (const char* name : {"a", "b", "c", "d"}) CHECK(known.keep(name, version("1")));
  CHECK(known.num_versions() == 2);
  CHECK(known.num_fingerprints() == 2);
  CHECK_FALSE(known.find("a"));
  CHECK_FALSE(known.keep("a", version("2")));
  CHECK_FALSE(known.keep("a", version("1", 2)));
  CHECK(known.keep("a", version("1")));
  CHECK(known.find("a") == version("1"));
}

TEST_CASE("However many files are opened, the memory is bounded") {
  KnownVersions known(10, 20);
  for (int i = 0; i < 1000; ++i) {
    CHECK(known.keep("file " + std::to_string(i % 100), version(std::to_string(i % 100))));
    CHECK(known.num_versions() <= 10);
    CHECK(known.num_fingerprints() <= 20);
  }
}

TEST_CASE("A version without an ETag stays: the server would name the next answer otherwise") {
  KnownVersions known(2, 2);
  CHECK(known.keep("x", {.instance = "this run", .size = 1}));
  for (int i = 0; i < 10; ++i) CHECK(known.keep(std::to_string(i), version("1")));
  REQUIRE(known.find("x"));
  CHECK(known.find("x")->instance == "this run");
}

TEST_CASE("A version that was reduced to its fingerprint is known again, until it is forgotten") {
  KnownVersions known(1, 4);
  for (const char* name : {"a", "b", "c"}) CHECK(known.keep(name, version("1")));
  CHECK(known.was_kept("a", version("1")));
  CHECK_FALSE(known.was_kept("a", version("2")));
  CHECK_FALSE(known.was_kept("d", version("1")));
  for (const char* name : {"a", "c"}) {
    known.forget(name);
    CHECK_FALSE(known.was_kept(name, version("1")));
    CHECK(known.keep(name, version("2")));
    CHECK(known.find(name) == version("2"));
  }
}
