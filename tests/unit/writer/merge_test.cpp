// Parts of Writers and finished datasets that become one: merge_writer_parts(), merge_datasets(), find_repeated_key().
#include <filesystem>
#include <string>

#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset/keys/names_apart.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/writer/merge_datasets.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using bale::test::error_of;
using bale::test::InTempDir;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view k_pixmap = "P6\n2 3\n255\nxxxxxxxxxxxxxxxxxx";

Writer::Options options_of(const std::string& destination, const std::vector<std::string>& classes) {
  Writer::Options options{.pack = {.destination = destination, .format = find_format("tar")}, .classes = classes};
  options.pack.sizing.shard_samples = 2;
  return options;
}

/// Samples "NAME/0", ... of all classes in turn.
void write(Writer::Options options, const std::string& name, int count) {
  const auto num_classes = static_cast<int>(options.classes.size());
  Writer writer(std::move(options));
  const FieldView image{"ppm", as_bytes(k_pixmap)};
  for (int i = 0; i < count; ++i) writer.add(name + "/" + std::to_string(i), {&image, 1}, i % num_classes);
  writer.close();
}

void write_part(const std::string& destination, std::uint64_t part, int count) {
  Writer::Options options = options_of(destination, {"a", "b"});
  options.part.emplace(part, 3);
  write(std::move(options), "part" + std::to_string(part), count);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "parts of Writers become one dataset in the order of their numbers") {
  const std::string out = dir / "out";
  write_part(out, 2, 3);
  write_part(out, 0, 5);
  Progress progress;
  const MergeReport missing = merge_writer_parts(out, 0, 1, progress);
  CHECK_FALSE(missing.datasets);
  CHECK(missing.num_parts == 3);
  CHECK(missing.missing_parts == std::vector<std::uint64_t>{1});
  write_part(out, 1, 0);
  const MergeReport merged = merge_writer_parts(out, 0, 1, progress);
  REQUIRE(merged.datasets);
  CHECK(merged.datasets->num_samples == 8);
  CHECK_FALSE(fs::exists(dir / "out/.bale-parts"));
  const Dataset dataset = Dataset::open(out);
  CHECK(dataset.num_shards() == 5);
  CHECK(dataset.key(4) == "part0/4");
  CHECK(dataset.key(5) == "part2/0");
  CHECK(merge_writer_parts(out, 0, 1, progress).datasets->num_samples == 8);
}

TEST_CASE_METHOD(InTempDir, "datasets with other numbers of classes are merged by name") {
  write(options_of(dir / "one", {"ant", "cat"}), "one", 4);
  write(options_of(dir / "two", {"bee", "cat"}), "two", 4);
  Progress progress;
  const PackReport report =
      merge_datasets({.sources = {dir / "one", dir / "two"}, .destination = dir / "out", .link = true}, progress);
  CHECK(report.num_samples == 8);
  const Dataset dataset = Dataset::open(dir / "out");
  CHECK(dataset.classes() == std::vector<std::string>{"ant", "cat", "bee"});
  for (std::uint64_t i = 0; i < 8; ++i) CHECK(dataset.label(i) == (i < 4 ? std::int64_t(i % 2) : i % 2 == 0 ? 2 : 1));
  CHECK(fs::equivalent(dir / "one/one-000000.tar", dir / "out/out-000000.tar"));
  const Error again = error_of([&] {
    merge_datasets({.sources = {dir / "one", dir / "two", dir / "one"}, .destination = dir / "other"}, progress);
  });
  CHECK(again.code() == ErrorCode::invalid_argument);
  const Error other_mode = error_of([&] {
    const auto mode = static_cast<DestinationMode>(3);
    merge_datasets({.sources = {dir / "one"}, .destination = dir / "other", .mode = mode}, progress);
  });
  CHECK(other_mode.code() == ErrorCode::invalid_argument);
  CHECK_FALSE(fs::exists(dir / "other"));
}

TEST_CASE("A key in two shards is found with both") {
  const auto keys_of = [](std::size_t shard, const KeyVisitor& visit) {
    for (int i = 0; i < 100; ++i) visit(std::to_string(shard == 2 && i == 50 ? 7 : int(shard) * 1000 + i));
  };
  CHECK_FALSE(find_repeated_key(2, keys_of));
  const auto repeated = find_repeated_key(3, keys_of);
  REQUIRE(repeated);
  CHECK(repeated->key == "7");
  CHECK(repeated->first == 0);
  CHECK(repeated->second == 2);
}
