// HDF5 layouts: what goes in comes out, where the index says, in the same bytes every time.
#include <cstring>
#include <thread>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/unit/formats/hdf5/hdf5_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

std::vector<OwnedSample> many_samples(std::size_t count) {
  std::vector<OwnedSample> samples;
  for (std::uint32_t i = 0; i < count; ++i) {
    samples.push_back({"class/" + std::to_string(i),
                       i % 7,
                       {{"cls", std::to_string(i % 7)}, {"jpg", random_bytes(100 + i % 500, i)}}});
  }
  return samples;
}

void check_located(const std::string& path, const ShardIndex& index, const std::vector<OwnedSample>& samples) {
  const File file = File::open_read(path);
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    std::size_t present = 0;
    for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
      REQUIRE(index.fields()[f].located);
      const Extent extent = index.extent(i, f);
      if (!extent.present()) continue;
      ++present;
      std::string bytes(extent.length, '\0');
      file.read_exact(extent.offset, std::as_writable_bytes(std::span(bytes)));
      CHECK(bytes == samples[i].at(index.fields()[f].stored_name()));
    }
    CHECK(present == samples[i].fields.size());
  }
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "blob and vlen give back odd samples, from the writer's index and from a scan") {
  const std::string layout = GENERATE("blob", "vlen");
  const std::string path = dir / (layout + ".h5");
  const std::vector<OwnedSample> samples = odd_samples();
  const ShardIndex written = pack_shard(path, samples, {.layout = layout, .class_names = {"cat", "d\xc3\xb6g"}});
  CHECK(read_all(path, written) == samples);
  check_located(path, written, samples);
  const ShardIndex scanned = scan(path);
  CHECK(read_all(path, scanned) == samples);
  check_located(path, scanned, samples);
  const auto json = scanned.field_id("json");
  REQUIRE(json);
  CHECK(scanned.fields()[*json].codec == Codec::zstd);
}

TEST_CASE_METHOD(InHdf5Path, "thousands of samples cross every chunk and heap boundary") {
  const std::string layout = GENERATE("blob", "vlen");
  const std::vector<OwnedSample> samples = many_samples(3000);
  CHECK(read_all(path, pack_shard(path, samples, {.layout = layout})) == samples);
  CHECK(read_all(path, scan(path)) == samples);
}

TEST_CASE_METHOD(InHdf5Path, "shards without samples are shards") {
  const std::string layout = GENERATE("blob", "vlen", "array", "deflated array");
  CHECK(pack_shard(path, {}, settings_of(layout)).size() == 0);
  CHECK(scan(path).size() == 0);
}

TEST_CASE_METHOD(InTempDir, "the same samples give the same bytes, however many others were planned") {
  const std::string layout = GENERATE("blob", "vlen");
  const std::vector<OwnedSample> samples = odd_samples();
  pack_shard(dir / "exact.h5", samples, {.layout = layout});
  pack_shard(dir / "again.h5", samples, {.layout = layout});
  CHECK(read_file(dir / "exact.h5") == read_file(dir / "again.h5"));

  std::vector<OwnedSample> more = samples;
  more.push_back(
      {"skipped", 9, {{"gone", "never added"}, {"jpg", random_bytes(70'000, 9)}, {"json.zst", random_bytes(900, 9)}}});
  const ShardIndex index = pack_shard(dir / "fewer.h5", samples, {.layout = layout, .plan = plan_of(more)});
  CHECK(read_file(dir / "exact.h5") == read_file(dir / "fewer.h5"));
  CHECK(read_all(dir / "fewer.h5", index) == samples);

  const std::vector<OwnedSample> fewer(samples.begin(), samples.begin() + 1);
  pack_shard(dir / "grown.h5", samples, {.layout = layout, .plan = plan_of(fewer)});
  CHECK(read_all(dir / "grown.h5", scan(dir / "grown.h5")) == samples);
  CHECK_FALSE(std::filesystem::exists(dir / "grown.h5.resize"));
  CHECK_FALSE(std::filesystem::exists(dir / "grown.h5.spool"));
}

TEST_CASE_METHOD(InTempDir, "the same images give the same array, however many others were planned") {
  std::vector<OwnedSample> samples;
  for (std::uint32_t i = 0; i < 9; ++i) {
    samples.push_back({std::to_string(i), i, {{"png", png_of(random_image(6, 5, i))}}});
    if (i % 3 != 0) samples.back().fields.push_back({"txt", std::string(i * 100, 't')});
  }
  pack_shard(dir / "exact.h5", samples, {.layout = "array"});
  const std::vector<OwnedSample> first(samples.begin(), samples.begin() + 2);
  std::vector<OwnedSample> more = samples;
  more.insert(more.end(), first.begin(), first.end());
  for (const auto& planned : {more, first}) {
    const ShardIndex index = pack_shard(dir / "other.h5", samples, {.layout = "array", .plan = plan_of(planned)});
    CHECK(read_file(dir / "exact.h5") == read_file(dir / "other.h5"));
    CHECK(read_all(dir / "other.h5", index) == read_all(dir / "exact.h5", scan(dir / "exact.h5")));
    CHECK_FALSE(std::filesystem::exists(dir / "other.h5.resize"));
    CHECK_FALSE(std::filesystem::exists(dir / "other.h5.spool"));
  }
}

TEST_CASE_METHOD(InHdf5Path, "fields beside an array come back, small and large, absent and empty") {
  std::vector<OwnedSample> samples;
  for (std::uint32_t i = 0; i < 2500; ++i) {
    OwnedSample sample{std::to_string(i), i, {{"png", png_of(random_image(2, 2, i % 5))}}};
    if (i % 7 != 0) sample.fields.push_back({"txt", std::string(i % 5, static_cast<char>('a' + i % 26))});
    if (i % 500 == 499) sample.fields.push_back({"mask", random_bytes(3'000'000 + i, i)});
    samples.push_back(std::move(sample));
  }
  const std::string layout = GENERATE("array", "deflated array");
  const std::vector<OwnedSample> read = read_all(path, pack_shard(path, samples, settings_of(layout)));
  CHECK(read == read_all(path, scan(path)));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::vector<OwnedField> expected(samples[i].fields.begin() + 1, samples[i].fields.end());
    expected.push_back({"npy", read[i].at("npy")});
    const OwnedSample whole = [&] {
      OwnedSample sample{samples[i].key, samples[i].label, std::move(expected)};
      sample.sort_fields();
      return sample;
    }();
    REQUIRE(read[i] == whole);
  }
}

TEST_CASE_METHOD(InHdf5Path, "compressed fields larger than memory's share go through a file") {
  std::vector<OwnedSample> samples;
  for (std::uint32_t i = 0; i < 7; ++i)
    samples.push_back({std::to_string(i), i, {{"json.zst", random_bytes(3'000'000 + i, i)}}});
  CHECK(read_all(path, pack_shard(path, samples, {})) == samples);
}

TEST_CASE_METHOD(InHdf5Path, "a sample that no dataset can hold is refused and the shard goes on") {
  const std::string layout = GENERATE("blob", "vlen");
  const std::vector<OwnedSample> samples = odd_samples();
  const auto writer = k_hdf5_format.create({.path = path, .layout = layout, .plan = plan_of(samples)});
  IndexBuilder index;
  for (const OwnedSample& sample : samples) {
    CHECK_THROWS_WITH(add(*writer, {"bad key", 0, {}}), ContainsSubstring("sample without fields"));
    for (const char* name : {"", ".", "a/b"}) {
      CHECK_THROWS_WITH(add(*writer, {"bad key", 0, {{name, "y"}, {"jpg", "x"}}}), ContainsSubstring("bad key"));
    }
    add(*writer, sample);
    index.add_sample(sample.key, sample.label);
  }
  writer->finish(index);
  CHECK(read_all(path, scan(path)) == samples);
}

TEST_CASE_METHOD(InHdf5Path, "array decodes images and delivers them as .npy") {
  std::vector<OwnedSample> samples;
  std::vector<Image> images;
  for (std::uint32_t i = 0; i < 5; ++i) {
    images.push_back(random_image(9, 7, i));
    samples.push_back({"k" + std::to_string(i), i, {{"cls", std::to_string(i)}, {"png", png_of(images.back())}}});
  }
  const std::string layout = GENERATE("array", "deflated array");
  const ShardIndex index = pack_shard(path, samples, settings_of(layout));
  const ShardIndex scanned = scan(path);
  const std::vector<OwnedSample> read = read_all(path, index);
  CHECK(read == read_all(path, scanned));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::string& npy = read[i].at("npy");
    REQUIRE(npy.size() == 128 + 9 * 7 * 3);
    CHECK(npy.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
    CHECK_THAT(npy.substr(0, 128), ContainsSubstring("{'descr': '|u1', 'fortran_order': False, 'shape': (7, 9, 3), }"));
    CHECK(npy[127] == '\n');
    CHECK(std::memcmp(npy.data() + 128, images[i].rgb.data(), images[i].rgb.size()) == 0);
    CHECK(read[i].at("cls") == samples[i].at("cls"));
    CHECK(read[i].fields.size() == 2);
    CHECK(index.width(i) == 9);
    CHECK(scanned.height(i) == 7);
    // Without compression the pixels lie in the file, and are read from there.
    const std::uint32_t field = *index.field_id("npy");
    const auto range = k_hdf5_format.open(path, index)->locate(i, field, index.extent(i, field));
    REQUIRE(range.has_value() == (layout == "array"));
    if (!range) continue;
    REQUIRE(range->length == images[i].rgb.size());
    std::vector<std::byte> found(range->length);
    File::open_read(path).read_exact(range->offset, found);
    CHECK(std::memcmp(found.data(), images[i].rgb.data(), found.size()) == 0);
  }
  CHECK_FALSE(index.fields()[*index.field_id("npy")].located);

  SECTION("and takes such .npy back") {
    pack_shard(dir / "back.h5", read, settings_of(layout));
    CHECK(read_file(path) == read_file(dir / "back.h5"));
  }
}

TEST_CASE_METHOD(InHdf5Path, "array wants one size, and makes it where told") {
  const std::vector<OwnedSample> samples{{"first", 0, {{"png", png_of(random_image(8, 8, 1))}}},
                                         {"second", 0, {{"png", png_of(random_image(9, 8, 2))}}}};
  CHECK_THROWS_WITH(pack_shard(path, samples, {.layout = "array"}),
                    ContainsSubstring("second") && ContainsSubstring("9 x 8") && ContainsSubstring("8 x 8") &&
                        ContainsSubstring("`size`"));
  const ShardIndex index =
      pack_shard(path, samples, {.layout = "array", .format_options = {{"size", "4"}, {"level", "9"}}});
  CHECK(read_all(path, index)[1].at("npy").size() == 128 + 4 * 4 * 3);
  CHECK_THROWS_WITH(pack_shard(path, {{"broken", 0, {{"jpg", "not an image"}}}}, {.layout = "array"}),
                    ContainsSubstring("broken"));
  CHECK_THROWS_WITH(pack_shard(path, {{"none", 0, {{"txt", ""}}}}, {.layout = "array"}), ContainsSubstring("none"));
  CHECK_THROWS_AS(pack_shard(path, samples, {.layout = "array", .format_options = {{"size", "0"}}}), Error);
  CHECK_THROWS_AS(pack_shard(path, samples, {.layout = "blob", .format_options = {{"size", "4"}}}), Error);
}

TEST_CASE_METHOD(InTempDir, "threads pack and read side by side") {
  const std::vector<OwnedSample> samples = many_samples(300);
  std::vector<OwnedSample> pictures;
  for (std::uint32_t i = 0; i < 50; ++i)
    pictures.push_back({std::to_string(i), i, {{"png", png_of(random_image(6, 5, i))}}});
  const std::vector<PackSettings> settings{{.layout = "blob"}, {.layout = "vlen"}, {.layout = "array"}};
  const auto content = [&](std::size_t worker) -> const std::vector<OwnedSample>& {
    return settings[worker % 3].layout == "array" ? pictures : samples;
  };
  std::vector<std::vector<OwnedSample>> read(6);
  std::vector<std::thread> threads;
  for (std::size_t worker = 0; worker < read.size(); ++worker) {
    threads.emplace_back([&, worker] {
      const std::string path = dir / std::to_string(worker);
      pack_shard(path, content(worker), settings[worker % 3]);
      read[worker] = read_all(path, scan(path));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t worker = 0; worker < 3; ++worker) {
    CHECK(read_file(dir / std::to_string(worker)) == read_file(dir / std::to_string(worker + 3)));
    CHECK(read[worker] == read[worker + 3]);
    if (worker < 2) CHECK(read[worker] == samples);
  }
}

TEST_CASE("the signature is found at every place it may be") {
  for (const std::size_t at : {0, 512, 1024, 2048}) {
    std::string head(4096, '\0');
    head.replace(at, 8, "\x89HDF\r\n\x1a\n");
    CHECK(k_hdf5_format.probe({.path = "x", .head = as_bytes(head), .file_bytes = 9999}) == 100);
  }
  CHECK(k_hdf5_format.probe({.path = "x.h5", .head = as_bytes("\x89HDF"), .file_bytes = 4}) == 0);
}
