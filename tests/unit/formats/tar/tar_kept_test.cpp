// What compressed tar shards keep between two reads: one cache of frames and one of spills for the whole process.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/tests/unit/formats/tar/tar_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// An environment variable for as long as it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

std::vector<OwnedSample> samples_of(int shard, int count, std::size_t bytes) {
  std::vector<OwnedSample> samples;
  for (int i = 0; i < count; ++i) {
    const std::string key = std::to_string(shard) + "_" + std::to_string(i);
    samples.push_back({key, {{"txt", key + std::string(bytes, static_cast<char>('a' + i % 26))}}});
  }
  return samples;
}

std::vector<Shard> open_shards(const TempDir& dir, std::string_view layout, int num_shards, int count,
                               std::size_t bytes) {
  std::vector<Shard> shards;
  for (int s = 0; s < num_shards; ++s) {
    const std::string path = dir / ("s" + std::to_string(s));
    shards.push_back(Shard::open(path, k_tar_format, pack_samples(path, layout, samples_of(s, count, bytes))));
  }
  return shards;
}

/// Whether sample `i` of shard `s` is what was packed.
bool is_right(const std::vector<Shard>& shards, int s, int i, std::size_t bytes, Scratch& scratch) {
  const std::string key = std::to_string(s) + "_" + std::to_string(i);
  const Bytes text = shards[static_cast<std::size_t>(s)].read_field(static_cast<std::uint64_t>(i), "txt", scratch);
  return as_text(text) == key + std::string(bytes, static_cast<char>('a' + i % 26));
}

}  // namespace

TEST_CASE("A shared cache gives up what was used least recently, and keeps what was asked for last") {
  SharedCache<int> cache;
  const auto insert = [&](std::uint64_t owner, std::uint64_t bytes) {
    cache.insert({owner, 0}, std::make_shared<int>(static_cast<int>(owner)), bytes, 100);
  };
  insert(1, 40);
  insert(2, 40);
  REQUIRE(cache.find({1, 0}) != nullptr);
  insert(3, 40);
  CHECK(cache.find({2, 0}) == nullptr);
  CHECK(*cache.find({1, 0}) == 1);
  CHECK(cache.bytes() == 80);
  insert(3, 50);  // in place of the one that is there
  CHECK(cache.bytes() == 90);
  insert(4, 1000);  // larger than the limit: alone
  CHECK(cache.bytes() == 1000);
  CHECK(cache.find({1, 0}) == nullptr);
  const auto held = cache.find({4, 0});
  cache.erase(4);
  CHECK(cache.bytes() == 0);
  CHECK(*held == 4);
}

TEST_CASE_METHOD(InTempDir, "Frames of all shards together stay within one limit") {
  constexpr std::size_t k_bytes = 700'000;
  {
    const auto shards = open_shards(dir, "zst", 150, 1, k_bytes);
    Scratch scratch;
    for (int round = 0; round < 2; ++round) {
      for (int s = 0; s < 150; ++s) {
        REQUIRE(is_right(shards, s, 0, k_bytes, scratch));
        REQUIRE(frame_cache().bytes() <= k_frame_cache_bytes);
      }
    }
    CHECK(frame_cache().bytes() > k_frame_cache_bytes / 2);
  }
  CHECK(frame_cache().bytes() == 0);  // with its shard a frame goes too
}

TEST_CASE_METHOD(InTempDir,
                 "An inflated shard is given up when all of it was read, and kept for whoever reads it again") {
  const auto shards = open_shards(dir, "gz", 3, 5, 1000);
  Scratch scratch;
  for (int s = 0; s < 3; ++s) {
    for (int i = 0; i < 5; ++i) {
      REQUIRE(is_right(shards, s, i, 1000, scratch));
      CHECK((spill_cache().bytes() != 0) == (i < 4));
    }
  }
  for (int s = 0; s < 3; ++s) {
    for (int i = 0; i < 5; ++i) REQUIRE(is_right(shards, s, i, 1000, scratch));
  }
  const std::uint64_t all = spill_cache().bytes();
  CHECK(all > 3 * 5 * 1000);
  for (int i = 0; i < 100; ++i) REQUIRE(is_right(shards, i % 3, i % 5, 1000, scratch));
  CHECK(spill_cache().bytes() == all);
}

TEST_CASE_METHOD(InTempDir, "Inflated shards beyond the limit are inflated again, whatever the order and the threads") {
  for (const std::string layout : {"gz", "zst"}) {
    const auto shards = open_shards(dir, layout, 5, 6, 20000);
    const Setting limit("BALE_SPILL_BYTES", "300000");  // two of five
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        KeyedRandom random{t};
        Scratch scratch;
        for (int i = 0; i < 150; ++i) {
          const int s = static_cast<int>(random.below(5));
          if (!is_right(shards, s, static_cast<int>(random.below(6)), 20000, scratch)) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(spill_cache().bytes() <= 300000);
  }
  CHECK(spill_cache().bytes() == 0);
}
