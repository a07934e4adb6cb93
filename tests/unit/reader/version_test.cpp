// The names of versions in specs, and how their beginnings are resolved.
#include "bale/reader/version.hpp"

#include <fstream>

#include <sys/stat.h>

#include <fmt/format.h>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

Manifest manifest_of(std::uint64_t content) {
  Manifest manifest{.name = "x", .format = "tar", .layout = "plain", .num_samples = 1};
  manifest.shards.push_back({.file = "x-000000.tar", .digest = fmt::format("xxh3:{:032x}", content), .num_samples = 1});
  return manifest;
}

void write(const std::string& path, const Manifest& manifest) { std::ofstream(path) << manifest_text(manifest); }

}  // namespace

TEST_CASE("a spec of a version ends with its id") {
  const auto split = split_version("a@b/packed@3f2a");
  REQUIRE(split);
  CHECK(split->directory == "a@b/packed");
  CHECK(split->id == "3f2a");
  CHECK(split_version("https://host/packed@0123456789abcdef?key=1")->directory == "https://host/packed?key=1");
  for (const char* spec : {"packed", "packed@", "packed@3f2", "packed@3F2A", "packed@0123456789abcdef0", "a@3f2a/b",
                           "@3f2a", "a/@3f2a", "a@3f2a::b@3f2a"}) {
    INFO(spec);
    CHECK_FALSE(split_version(spec));
  }
}

TEST_CASE("ids are of the digests in their order, whatever else a manifest says") {
  Manifest one = manifest_of(1);
  const std::string id = version_id(one);
  one.created_by = "another";
  one.parent = id;
  one.change = {.verb = "add", .num_samples = 1, .message = "of another history"};
  CHECK(version_id(one) == id);
  CHECK(version_id(manifest_of(2)) != id);
  CHECK(version_id(parse_manifest(manifest_text(one), "m")) == id);
}

TEST_CASE_METHOD(test::InTempDir, "a beginning that two versions have is refused") {
  const std::string first = version_id(manifest_of(0));
  std::uint64_t content = 1;
  while (version_id(manifest_of(content)).substr(0, 4) != first.substr(0, 4)) ++content;
  Manifest current = manifest_of(content);
  current.parent = first;
  write(dir / "manifest.json", current);
  ::mkdir((dir / "versions").c_str(), 0777);
  write(dir / kept_version(first), manifest_of(0));

  CHECK(find_version({.directory = dir.path(), .id = first}) == first);
  CHECK(find_version({.directory = dir.path(), .id = version_id(current)}) == version_id(current));
  CHECK(test::code_of([&] { find_version({.directory = dir.path(), .id = first.substr(0, 4)}); }) ==
        ErrorCode::invalid_argument);
  CHECK(dataset_versions(dir.path()).size() == 2);
  CHECK(with_version(dir.path() + '/', first) == dir.path() + '@' + first);
  CHECK(with_version(dir / "manifest.json", first) == dir.path() + '@' + first);
  CHECK(with_version(dir.path() + '@' + version_id(current), first) == dir.path() + '@' + first);
  CHECK(test::code_of([&] { with_version("a::b", first); }) == ErrorCode::invalid_argument);

  current.parent = version_id(current);  // no version is before itself
  write(dir / "manifest.json", current);
  CHECK(dataset_versions(dir.path()).size() == 1);

  // A version that is kept, and from which no later one leads to the current one, has its own history.
  const std::vector<DatasetVersion> older = dataset_versions(dir.path(), first);
  REQUIRE(older.size() == 1);
  CHECK(older.front().id == first);
}
