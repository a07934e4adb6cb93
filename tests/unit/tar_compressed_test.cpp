// Compressed tar shards: damage is found, foreign compressors are read, frames are cut where they should be.
#include <algorithm>
#include <set>

#include "bale/formats/registry/registry.hpp"
#include "bale/tests/unit/tar_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Samples of 100,000 bytes that do not compress: each has a frame of its own.
std::vector<OwnedSample> large_samples() {
  std::vector<OwnedSample> samples;
  for (int i = 0; i < 35; ++i) {
    samples.push_back({"s" + std::to_string(i),
                       {{"cls", std::to_string(i)}, {"jpg", random_bytes(100000, static_cast<std::uint64_t>(i))}}});
  }
  return samples;
}

/// What reading a damaged file comes to: its samples, or nothing where an Error says so.
std::vector<OwnedSample> try_read(const std::string& path) {
  try {
    return read_samples(path);
  } catch (const Error& error) {
    CHECK((error.code() == ErrorCode::damaged || error.code() == ErrorCode::unsupported));
    return {};
  }
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "zstd frames hold whole samples and a seek table names them") {
  const std::string path = dir / "s.tar.zst";
  const auto samples = large_samples();
  const Shard shard = Shard::open(path, k_tar_format, pack_samples(path, "zst", samples));
  const std::string file = slurp(path);
  REQUIRE(u32_at(file, file.size() - 4) == 0x8F92EAB1);
  const std::uint32_t num_frames = u32_at(file, file.size() - 9);
  CHECK(num_frames == 36);  // and the end of the archive
  const std::size_t table = file.size() - 17 - 8 * num_frames;
  CHECK(u32_at(file, table) == 0x184D2A5E);
  CHECK(u32_at(file, table + 4) == 8 * num_frames + 9);
  std::set<std::uint64_t> starts;
  for (std::size_t at = 0, i = 0; i < num_frames; ++i) {
    starts.insert(at);
    CHECK(u32_at(file, at) == 0xFD2FB528);
    at += u32_at(file, table + 8 + 8 * i);
  }
  for (std::uint64_t i = 0; i < shard.size(); ++i) {
    const auto ranges = shard.locate(i);
    REQUIRE(ranges.size() == 1);  // both fields in one frame
    CHECK(starts.count(ranges[0].offset) == 1);
  }
}

TEST_CASE_METHOD(InTempDir, "zstd frames grow to 1 MiB where content compresses, and shrink where it does not") {
  std::vector<OwnedSample> samples;
  for (int i = 0; i < 4000; ++i) {  // 1,536 bytes of the stream each
    samples.push_back({"s" + std::to_string(i), {{"txt", std::string(500, static_cast<char>('a' + i % 26))}}});
  }
  for (int i = 0; i < 80; ++i) samples.push_back({"z" + std::to_string(i), {{"bin", random_bytes(30000, 1000 + i)}}});
  const std::string path = dir / "s.tar.zst";
  const Shard shard = Shard::open(path, k_tar_format, pack_samples(path, "zst", samples));
  const std::string file = slurp(path);
  const std::uint32_t num_frames = u32_at(file, file.size() - 9);
  const std::size_t table = file.size() - 17 - 8 * num_frames;
  std::vector<std::uint32_t> contents;
  for (std::size_t i = 0; i < num_frames; ++i) contents.push_back(u32_at(file, table + 8 + 8 * i + 4));
  CHECK(contents.front() <= 64 << 10);
  const auto count_of = [&](std::uint32_t least, std::uint32_t most) {
    return std::count_if(contents.begin(), contents.end(), [&](auto size) { return least <= size && size <= most; });
  };
  CHECK(count_of(1000 << 10, 1 << 20) >= 3);
  CHECK(count_of(30000, 64 << 10) >= 18);  // of one or two samples
  CHECK(read_samples(path) == samples);
}

TEST_CASE_METHOD(InTempDir, "samples larger than a frame span several") {
  std::vector<OwnedSample> samples{
      {"a", {{"jpg", "small"}}},
      {"b", {{"bin", std::string(std::size_t{40} << 20, 'b')}, {"jpg", random_bytes(5000, 1)}}},
      {"c", {{"jpg", "small too"}}}};
  for (const std::string layout : {"zst", "gz"}) {
    pack_samples(dir / "s", layout, samples, {{"level", "1"}});
    CHECK(read_samples(dir / "s") == samples);
  }
}

TEST_CASE_METHOD(InTempDir, "foreign gzip and zstd are read") {
  const auto samples = mixed_samples(40);
  pack_samples(dir / "s.tar", "plain", samples);
  REQUIRE(run_in(dir.path(), "gzip -k s.tar && cat s.tar.gz > pad.tar.gz && head -c 1000 /dev/zero >> pad.tar.gz"));
  CHECK(read_samples(dir / "s.tar.gz") == samples);
  CHECK(read_samples(dir / "pad.tar.gz") == samples);
  if (!run_in(dir.path(), "command -v zstd")) return;
  REQUIRE(run_in(dir.path(), "zstd -q s.tar -o one.tar.zst && zstd -q -c < s.tar > stream.tar.zst"));
  REQUIRE(
      run_in(dir.path(),
             "head -c 100000 s.tar | zstd -q -c > two.tar.zst && tail -c +100001 s.tar | zstd -q -c >> two.tar.zst"));
  for (const std::string file : {"one", "stream", "two"}) {
    INFO(file);
    CHECK(read_samples(dir / (file + ".tar.zst")) == samples);
    CHECK(probe_format(dir / (file + ".tar.zst")).name == "tar");
  }
}

TEST_CASE_METHOD(InTempDir, "cut compressed archives are refused") {
  const auto samples = mixed_samples(8);
  for (const std::string layout : {"gz", "zst"}) {
    const std::string path = dir / ("s.tar." + layout);
    pack_samples(path, layout, samples);
    const std::string good = slurp(path);
    for (std::size_t size = 0; size < good.size(); size += 1 + size / 50) {
      INFO(layout << " cut to " << size);
      spit(path, good.substr(0, size));
      if (layout == "gz") {
        CHECK_THROWS_AS(scan_shard(path, k_tar_format), Error);
      } else {
        // Without its table the stream is inflated whole: all there, or an error.
        const auto found = try_read(path);
        CHECK((found.empty() || found == samples));
      }
    }
    spit(path, good + "garbage");
    const auto found = try_read(path);
    CHECK(found.empty());
  }
}

TEST_CASE_METHOD(InTempDir, "no flipped bit of a compressed archive changes what is read") {
  std::vector<OwnedSample> samples{{"a", {{"cls", "1"}, {"jpg", random_bytes(300, 1)}}},
                                   {"b", {{"cls", "2"}, {"jpg", "x"}}}};
  for (const std::string layout : {"gz", "zst"}) {
    const std::string path = dir / ("s.tar." + layout);
    pack_samples(path, layout, samples);
    const std::string good = slurp(path);
    File file = File::open_update(path);
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      const char flipped = static_cast<char>(good[bit / 8] ^ (1 << (bit % 8)));
      file.write_at(bit / 8, as_bytes({&flipped, 1}));
      const auto found = try_read(path);
      file.write_at(bit / 8, as_bytes({&good[bit / 8], 1}));
      if (found.empty()) ++refused;
      if (!found.empty() && found != samples) FAIL_CHECK(layout << ": bit " << bit << " goes unseen");
    }
    CHECK(refused > good.size() * 7);  // a few header bits mean nothing
  }
}

TEST_CASE_METHOD(InTempDir, "forged seek tables are refused") {
  const std::string path = dir / "s.tar.zst";
  const auto samples = large_samples();
  pack_samples(path, "zst", samples);
  const std::string good = slurp(path);
  const std::size_t table = good.size() - 17 - 8 * 36;
  const auto forged = [&](std::size_t at, const std::string& bytes) {
    std::string bad = good;
    bad.replace(at, bytes.size(), bytes);
    spit(path, bad);
    CHECK_THROWS_AS(read_samples(path), Error);
  };
  const std::string all_ones(4, '\xff');
  const std::string zero(4, '\0');
  forged(table, all_ones);                           // not the table's own frame
  forged(table + 4, zero);                           // its size
  forged(table + 8, zero);                           // an empty frame
  forged(table + 8, all_ones);                       // a frame past the end
  forged(table + 12, std::string("\0\0\0\x03", 4));  // 48 MiB claimed
  forged(good.size() - 9, zero);                     // no frames
  forged(good.size() - 9, all_ones);                 // more frames than fit
  forged(good.size() - 9, std::string("\x03\0\0\0", 4));
  forged(good.size() - 5, "\x7c");  // reserved bits

  // A frame said to be empty: the table is not believed, the file is inflated whole.
  std::string emptied = good;
  emptied.replace(table + 12, 4, zero);
  spit(path, emptied);
  CHECK(read_samples(path) == samples);
}
