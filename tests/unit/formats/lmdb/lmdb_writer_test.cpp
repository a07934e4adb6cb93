// What the lmdb writer leaves on disk: judged by liblmdb, byte for byte.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tests/unit/formats/lmdb/lmdb_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

std::string jpeg(std::size_t bytes, char fill) { return "\xFF\xD8\xFF" + std::string(bytes, fill); }

}  // namespace

TEST_CASE_METHOD(InLmdbPath, "a plain reader finds the image under its number and the rest beside it") {
  pack_lmdb(path, {{"n1/a", 3, {{"cls", "3"}, {"jpg", jpeg(5000, 'a')}}},
                   {"n1/b", 4, {{"cls", "4"}, {"jpg", jpeg(10, 'b')}, {"_x", ""}}},
                   {"n2/c", 5, {{"cls", "5"}, {"png", "a png"}}},
                   {"n2/d", 6, {{"cls", "6"}, {"a", "no image"}}}});
  const std::map<std::string, std::string> expected{{"00000000", jpeg(5000, 'a')},
                                                    {"00000000.__key__", "n1/a"},
                                                    {"00000000.cls", "3"},
                                                    {"00000001", jpeg(10, 'b')},
                                                    {"00000001.__key__", "n1/b"},
                                                    {"00000001._x", ""},
                                                    {"00000001.cls", "4"},
                                                    {"00000002", "a png"},
                                                    {"00000002.__key__", "n2/c"},
                                                    {"00000002.__primary__", "png"},
                                                    {"00000002.cls", "5"},
                                                    {"00000003", "6"},
                                                    {"00000003.__key__", "n2/d"},
                                                    {"00000003.__primary__", "cls"},
                                                    {"00000003.a", "no image"},
                                                    {"__bale__", R"({"version":1,"primary":"jpg"})"},
                                                    {"__len__", "4"}};
  CHECK(read_lmdb(path) == expected);
  const ShardIndex scanned = scan_lmdb(path);
  REQUIRE(scanned.size() == 4);
  CHECK(scanned.key(2) == "n2/c");
  CHECK(scanned.label(3) == 6);
  CHECK(read_field(path, scanned, 0, "jpg") == jpeg(5000, 'a'));
  CHECK(read_field(path, scanned, 1, "_x").empty());
  CHECK(read_field(path, scanned, 2, "png") == "a png");
  CHECK(read_field(path, scanned, 2, "jpg") == "(absent)");
  CHECK(read_field(path, scanned, 3, "cls") == "6");
}

TEST_CASE_METHOD(InTempDir, "every extent holds its value, in a file of many batches that outgrows its plan") {
  std::vector<OwnedSample> samples;
  for (int i = 0; i < 3000; ++i) {
    // Sizes around what leaves a leaf, and around whole pages.
    const std::size_t size = static_cast<std::size_t>((i * 37) % 6000 + (i % 500 == 0 ? 3'000'000 : 0));
    samples.push_back({fmt::format("key/{}", i),
                       i,
                       {{"jpg", jpeg(size, static_cast<char>('a' + i % 26))}, {"cls", std::to_string(i)}}});
  }
  const std::string exact = dir / "exact.lmdb";
  const std::string outgrown = dir / "outgrown.lmdb";
  const IndexBuilder index = pack_lmdb(exact, samples);
  pack_lmdb(outgrown, samples, false);

  for (const std::string& path : {exact, outgrown}) {
    const std::map<std::string, std::string> pairs = read_lmdb(path);
    REQUIRE(pairs.size() == 3 * samples.size() + 2);
    const std::string bytes = slurp(path);
    CHECK(bytes.size() % 4096 == 0);
    const ShardIndex scanned = scan_lmdb(path);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (std::uint32_t f = 0; f < 2; ++f) {
        const auto& [name, value] = samples[i].fields[f];
        const Extent extent = scanned.extent(i, *scanned.field_id(name));
        REQUIRE(std::string_view(bytes).substr(extent.offset, extent.length) == value);
        if (path == exact) REQUIRE(index.extent(i, f).offset == extent.offset);
      }
      REQUIRE(pairs.at(fmt::format("{:08}", i)) == samples[i].fields[0].bytes);
    }
  }
}

TEST_CASE_METHOD(InTempDir, "addresses of this process do not get into the file") {
  std::vector<OwnedSample> samples;
  for (std::size_t i = 0; i < 2000; ++i) {
    samples.push_back({std::to_string(i), 1, {{"jpg", jpeg(4000 + i, 'x')}, {"cls", "1"}}});
  }
  // Another thread has another heap, and two environments at once have two maps.
  std::thread other([&] { pack_lmdb(dir / "a.lmdb", samples); });
  pack_lmdb(dir / "b.lmdb", samples);
  other.join();
  CHECK(slurp(dir / "a.lmdb") == slurp(dir / "b.lmdb"));
}

TEST_CASE_METHOD(InTempDir, "samples that cannot be stored are refused and the shard goes on") {
  const auto writer = lmdb_format().create({.path = dir / "a.lmdb", .layout = "plain"});
  const auto add = [&](std::string_view key, std::vector<FieldView> fields) {
    writer->add({.key = key, .fields = fields});
  };
  CHECK_THROWS_AS(add("none", {}), Error);
  CHECK_THROWS_AS(add("twice", {{"cls", {}}, {"cls", {}}}), Error);
  CHECK_THROWS_AS(add("reserved", {{"__key__", {}}}), Error);
  CHECK_THROWS_AS(add("long", {{std::string(503, 'x'), {}}}), Error);
  add("good", {{"jpg", as_bytes("image")}});
  IndexBuilder index;
  index.add_field("jpg");
  index.add_sample("good");
  writer->finish(index);
  CHECK(read_lmdb(dir / "a.lmdb").at("00000000") == "image");
}

TEST_CASE_METHOD(InLmdbPath, "a file size limit is an error that names the path") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto error = thrown_by([&] {
      pack_lmdb(path, std::vector<OwnedSample>(500, {"k", 1, {{"jpg", jpeg(50000, 'x')}}}));
    });
    if (!error) ::_exit(1);
    const bool told =
        error->code() == ErrorCode::io && error->context().path == path && error->context().system_error == EFBIG;
    ::_exit(told ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE_METHOD(InLmdbPath, "a value that LMDB cannot write is refused with its sample") {
  // Nothing touches these pages unless it is written.
  constexpr std::size_t k_bytes = std::size_t{1} << 31;
  void* const memory = ::mmap(nullptr, k_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const Bytes large(static_cast<const std::byte*>(memory), k_bytes);
  const auto writer = lmdb_format().create({.path = path, .layout = "plain"});
  IndexBuilder index;
  index.add_field("jpg");
  const auto add = [&](std::string_view key, Bytes bytes) {
    const FieldView field{"jpg", bytes};
    writer->add({.key = key, .fields = {&field, 1}});
    index.add_sample(key);
  };
  add("before", as_bytes("1"));
  for (const std::size_t bytes : {k_bytes, k_bytes - 4096 - 15}) {
    const Error error = error_of([&] { add("large", large.first(bytes)); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.context().key == "large");
    CHECK_THAT(error.what(), ContainsSubstring("more than LMDB writes in one value"));
  }
  add("after", as_bytes("2"));
  writer->finish(index);
  ::munmap(memory, k_bytes);
  CHECK(read_lmdb(path).at("00000001.__key__") == "after");
}
