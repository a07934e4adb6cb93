// Tar shards, our own: what is packed comes back, in every layout, from our index and from a bare scan.
#include <filesystem>
#include <thread>

#include "bale/formats/registry/registry.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/formats/tar/tar_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

const std::vector<std::string> k_layout_names{"plain", "gz", "zst"};

}  // namespace

TEST_CASE_METHOD(InTempDir, "samples come back from every layout") {
  const std::vector<OwnedSample> samples = mixed_samples(60);
  for (const std::string& layout : k_layout_names) {
    INFO(layout);
    const std::string path = dir / "s.tar." + layout;
    ShardIndex written = pack_samples(path, layout, samples);
    const ShardIndex scanned = scan_shard(path, k_tar_format);
    REQUIRE(scanned.size() == samples.size());
    for (std::uint64_t i = 0; i < scanned.size(); ++i) {
      for (std::uint32_t f = 0; f < written.fields().size(); ++f) {
        const auto id = scanned.field_id(written.fields()[f].name);
        REQUIRE(id);
        CHECK(scanned.extent(i, *id).offset == written.extent(i, f).offset);
        if (written.extent(i, f).present()) CHECK(scanned.extent(i, *id).length == written.extent(i, f).length);
      }
      CHECK(scanned.label(i) == (i % 5 != 0 ? static_cast<std::int64_t>(i % 1000) : k_no_label));
    }
    CHECK(read_samples(path, std::move(written)) == samples);
    CHECK(read_samples(path) == samples);
    CHECK(probe_format(path).name == "tar");
  }
}

TEST_CASE_METHOD(InTempDir, "writing twice gives the same bytes") {
  const std::vector<OwnedSample> samples = mixed_samples(40);
  for (const std::string& layout : k_layout_names) {
    pack_samples(dir / "a", layout, samples);
    pack_samples(dir / "b", layout, samples);
    CHECK(slurp(dir / "a") == slurp(dir / "b"));
  }
}

TEST_CASE_METHOD(InTempDir, "an archive of nothing is whole and empty") {
  for (const std::string& layout : k_layout_names) {
    const std::string path = dir / ("s.tar" + (layout == "plain" ? "" : "." + layout));
    pack_samples(path, layout, {});
    CHECK(read_samples(path).empty());
    CHECK(probe_format(path).name == "tar");
  }
  CHECK(std::filesystem::file_size(dir / "s.tar") == 10240);
}

TEST_CASE_METHOD(InTempDir, "names of every kind come back") {
  const std::string part90(90, 'd');
  std::vector<OwnedSample> samples;
  const std::vector<std::string> keys{"plain",
                                      "new\nline/a\nb",
                                      "not utf-8 \xff\xfe",
                                      std::string(96, 'x'),
                                      std::string(97, 'x'),
                                      std::string(300, 'y'),
                                      part90 + "/" + part90,
                                      part90 + "/" + part90 + "/" + part90,
                                      "/absolute/" + part90 + "/b",
                                      "/" + std::string(96, 'z'),
                                      std::string(300, '\xff'),
                                      "\xc3\xa4/" + std::string(150, 'u') + "\xc3\xa4",
                                      std::string(20000, 'k')};
  for (const std::string& key : keys) {
    samples.push_back({key, {{"jpg", "bytes of " + key}}});
  }
  for (const std::string& layout : k_layout_names) {
    pack_samples(dir / "s", layout, samples);
    CHECK(read_samples(dir / "s") == samples);
  }
}

TEST_CASE_METHOD(InTempDir, "samples that would not come back are refused, and the shard goes on") {
  const auto writer = k_tar_format.create({.path = dir / "s.tar", .layout = "plain"});
  const FieldView jpg{"jpg", as_bytes("x")};
  const auto refused = [&](std::string_view key, std::vector<FieldView> fields) {
    return throws(ErrorCode::invalid_argument, [&] { writer->add({.key = key, .fields = fields}); });
  };
  CHECK(refused("a.b", {jpg}));
  CHECK(refused("", {jpg}));
  CHECK(refused("dir/", {jpg}));
  CHECK(refused("__meta__/x", {jpg}));
  CHECK(refused(std::string_view("nul\0", 4), {jpg}));
  CHECK(refused("a", {}));
  CHECK(refused("a", {{"JPG", as_bytes("x")}}));
  CHECK(refused("a", {{"jpeg", as_bytes("x")}}));
  CHECK(refused("a", {{"j/pg", as_bytes("x")}}));
  CHECK(refused("a", {jpg, jpg}));
  IndexBuilder index;
  index.add_field("jpg");
  writer->add({.key = "a", .fields = {&jpg, 1}});
  index.add_sample("a");
  CHECK(refused("a", {jpg}));
  writer->finish(index);
  CHECK(read_samples(dir / "s.tar") == std::vector<OwnedSample>{{"a", {{"jpg", "x"}}}});
}

TEST_CASE_METHOD(InTempDir, "format options are checked") {
  const auto create = [&](std::string_view layout, const std::map<std::string, std::string>& options) {
    return k_tar_format.create({.path = dir / "s", .layout = layout, .format_options = options});
  };
  CHECK_THROWS_AS(create("plain", {{"level", "3"}}), Error);
  CHECK_THROWS_AS(create("gz", {{"level", "10"}}), Error);
  CHECK_THROWS_AS(create("gz", {{"level", ""}}), Error);
  CHECK_THROWS_AS(create("zst", {{"level", "3x"}}), Error);
  CHECK_THROWS_AS(create("zst", {{"speed", "3"}}), Error);
  CHECK_THROWS_AS(create("other", {}), Error);
  CHECK_NOTHROW(create("zst", {{"level", "19"}}));
  CHECK_NOTHROW(create("gz", {{"level", "1"}}));
}

TEST_CASE_METHOD(InTempDir, "located ranges hold the bytes, and gzip has none") {
  const std::vector<OwnedSample> samples = mixed_samples(40);
  for (const std::string& layout : k_layout_names) {
    const std::string path = dir / "s." + layout;
    ShardIndex index = pack_samples(path, layout, samples);
    const std::string file = slurp(path);
    const Shard shard = Shard::open(path, k_tar_format, std::move(index));
    for (std::uint64_t i = 0; i < shard.size(); ++i) {
      const std::uint32_t jpg = *shard.index().field_id("jpg");
      const Extent extent = shard.index().extent(i, jpg);
      const auto range = shard.payload().locate(i, jpg, extent);
      REQUIRE(range.has_value() == (layout != "gz"));
      if (!range) continue;
      REQUIRE(range->offset + range->length <= file.size());
      const std::string located = file.substr(range->offset, range->length);
      if (layout == "plain") {
        for (const OwnedField& field : samples[i].fields) {
          if (field.name == "jpg") CHECK(located == field.bytes);
        }
      } else {
        CHECK(located.substr(0, 4) == "\x28\xb5\x2f\xfd");
      }
      shard.payload().will_need(*range);
    }
  }
}

TEST_CASE_METHOD(InTempDir, "many threads read one shard at once") {
  const std::vector<OwnedSample> samples = mixed_samples(60);
  for (const std::string& layout : k_layout_names) {
    const std::string path = dir / "s." + layout;
    const Shard shard = Shard::open(path, k_tar_format, pack_samples(path, layout, samples));
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        Scratch scratch;
        for (std::size_t k = 0; k < samples.size(); ++k) {
          const std::size_t i = (k * 17 + t * 5) % samples.size();
          for (const OwnedField& field : samples[i].fields) {
            if (as_text(shard.read_field(i, field.name, scratch)) != field.bytes) ++wrong[t];
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
  }
}
