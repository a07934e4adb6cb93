// Compressed tar shards: damage is found, foreign compressors are read, frames are cut where they should be.
#include <algorithm>
#include <set>

#include "bale/formats/registry/registry.hpp"
#include "bale/tests/unit/formats/tar/tar_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Samples of 100,000 bytes that do not compress: each has a raw frame and a compressed one for the rest.
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

struct FrameAt {
  std::size_t at;
  std::uint32_t bytes;
  std::uint32_t content;
};

/// The frames that the seek table of a file names.
std::vector<FrameAt> frames_of(const std::string& file) {
  REQUIRE(u32_at(file, file.size() - 4) == 0x8F92EAB1);
  const std::uint32_t count = u32_at(file, file.size() - 9);
  const std::size_t table = file.size() - 17 - 8 * count;
  CHECK(u32_at(file, table) == 0x184D2A5E);
  CHECK(u32_at(file, table + 4) == 8 * count + 9);
  std::vector<FrameAt> frames;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    frames.push_back({at, u32_at(file, table + 8 + 8 * i), u32_at(file, table + 12 + 8 * i)});
    CHECK(u32_at(file, at) == 0xFD2FB528);
    at += frames.back().bytes;
  }
  CHECK(at == table);
  return frames;
}

/// An index with checksums, as `bale index` makes it.
ShardIndex checked_index(const std::string& path) {
  NoticeLog notices;
  return ShardIndex::from_bytes(index_shard(path, k_tar_format, {}, {}, notices), path);
}

/// A seek table for one frame.
std::string table_of(const std::string& frame, std::size_t content) {
  std::string table;
  for (const std::size_t value : {std::size_t{0x184D2A5E}, std::size_t{17}, frame.size(), content, std::size_t{1}}) {
    for (int i = 0; i < 4; ++i) table += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return table + std::string("\0\xB1\xEA\x92\x8F", 5);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "what does not compress is stored, in zstd frames that a seek table names") {
  const std::string path = dir / "s.tar.zst";
  const auto samples = large_samples();
  const Shard shard = Shard::open(path, k_tar_format, pack_samples(path, "zst", samples));
  const std::string file = slurp(path);
  const std::vector<FrameAt> frames = frames_of(file);
  CHECK(frames.size() == 2 * samples.size() + 1);  // and the end of the archive
  for (std::uint64_t i = 0; i < shard.size(); ++i) {
    const FrameAt& stored = frames[2 * i + 1];
    const std::string_view jpg = samples[i].at("jpg");
    CHECK(stored.content == jpg.size());
    CHECK(file.substr(stored.at + stored.bytes - 4 - jpg.size(), jpg.size()) == jpg);
    const auto ranges = shard.locate(i);
    REQUIRE(ranges.size() == 1);
    CHECK(ranges[0].offset == frames[2 * i].at);
    CHECK(ranges[0].length == frames[2 * i].bytes + stored.bytes);
  }
}

TEST_CASE_METHOD(InTempDir, "stored fields of every size come back, with an index and without one") {
  std::vector<OwnedSample> samples;
  for (const std::size_t bytes :
       {0, 1, 255, 256, 2048, 2049, 4096, 65791, 65792, 131071, 131072, 131073, 262145, 700001}) {
    samples.push_back(
        {"s" + std::to_string(bytes),
         {{"bin", random_bytes(bytes, bytes)}, {"jpg", random_bytes(bytes + 3000, bytes + 1)}, {"txt", "x"}}});
  }
  const std::string path = dir / "s.tar.zst";
  pack_samples(path, "zst", samples);
  for (const FrameAt& frame : frames_of(slurp(path))) CHECK(frame.content <= 128 << 10);
  CHECK(read_samples(path) == samples);
  CHECK(read_samples(path, checked_index(path)) == samples);
}

TEST_CASE_METHOD(InTempDir, "a stored field has the index's checksum, and zstd's if there is no index") {
  const std::string path = dir / "s.tar.zst";
  const std::vector<OwnedSample> samples{{"a", {{"jpg", random_bytes(5000, 1)}}}};
  pack_samples(path, "zst", samples);
  const ShardIndex index = checked_index(path);
  const std::string good = slurp(path);
  const std::string good_path = dir / "good.tar.zst";
  const FrameAt stored = frames_of(good)[1];
  const auto is_read = [&](std::size_t at, bool by_index) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    spit(path, bad);
    try {
      return read_samples(path, by_index ? checked_index(good_path) : scan_shard(good_path, k_tar_format)) == samples;
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::damaged);
      return false;
    }
  };
  spit(good_path, good);
  for (const bool by_index : {true, false}) {
    CHECK_FALSE(is_read(stored.at, by_index));                           // the magic number
    CHECK_FALSE(is_read(stored.at + stored.bytes - 100, by_index));      // the content
    CHECK(is_read(stored.at + stored.bytes - 1, by_index) == by_index);  // zstd's checksum
  }
}

TEST_CASE_METHOD(InTempDir, "a frame that only has the size of a raw one is decompressed") {
  pack_samples(dir / "s.tar", "plain", {{"a", {{"jpg", random_bytes(5000, 1)}}}});
  const std::string tar = slurp(dir / "s.tar");
  REQUIRE(tar.size() == 10240);
  // No checksum, a window, and two raw blocks: as many bytes in all as our raw frame takes.
  const auto block = [&](std::size_t begin, bool is_last) {
    const std::size_t header = 5120U << 3 | (is_last ? 1 : 0);
    const char bytes[] = {static_cast<char>(header & 0xFF), static_cast<char>(header >> 8 & 0xFF),
                          static_cast<char>(header >> 16)};
    return std::string(bytes, 3) + tar.substr(begin, 5120);
  };
  const std::string frame = std::string("\x28\xB5\x2F\xFD\x40\x58\x00\x27", 8) + block(0, false) + block(5120, true);
  REQUIRE(frame.size() == 10 + tar.size() + 4);
  spit(dir / "s.tar.zst", frame + table_of(frame, tar.size()));
  CHECK(read_samples(dir / "s.tar.zst", checked_index(dir / "s.tar.zst")) == read_samples(dir / "s.tar"));
}

TEST_CASE_METHOD(InTempDir, "zstd frames have up to 64 KiB, and 8 KiB of what compresses little") {
  std::vector<OwnedSample> samples;
  for (int i = 0; i < 4000; ++i) {  // 1,024 bytes of the stream each
    samples.push_back({"s" + std::to_string(i), {{"txt", std::string(500, static_cast<char>('a' + i % 26))}}});
  }
  for (int i = 0; i < 80; ++i) samples.push_back({"z" + std::to_string(i), {{"bin", random_bytes(1900, 1000 + i)}}});
  const std::string path = dir / "s.tar.zst";
  pack_samples(path, "zst", samples);
  const std::vector<FrameAt> frames = frames_of(slurp(path));
  const auto count_of = [&](std::uint32_t least, std::uint32_t most) {
    return std::count_if(frames.begin(), frames.end(),
                         [&](const FrameAt& frame) { return least <= frame.content && frame.content <= most; });
  };
  CHECK(count_of(60 << 10, 64 << 10) >= 60);
  CHECK(count_of(5 << 10, 8 << 10) >= 12);
  CHECK(count_of((64 << 10) + 1, ~0U) == 0);
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
  const std::size_t table = good.size() - 17 - 8 * 71;
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
