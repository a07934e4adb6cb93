// What the cache of remote files removes first, and its limit.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bale/formats/base/random.hpp"
#include "bale/formats/storage/cache/cache_directory.hpp"
#include "bale/formats/storage/cache/cached_file.hpp"
#include "bale/formats/storage/cache/entries/eviction.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

constexpr std::uint64_t k_limit = CacheDirectory::k_least_limit;
constexpr std::uint64_t k_job = 1;
constexpr std::uint64_t k_other_job = 2;

/// A cache with files of 1,000 units each.
struct Cache {
  static constexpr std::uint64_t k_units = 1000;

  test::TempDir dir;
  std::shared_ptr<CacheDirectory> cache =
      std::make_shared<CacheDirectory>(CacheSettings{.directory = dir.path(), .limit_bytes = k_limit});

  std::shared_ptr<CachedFile> file(const std::string& name) const {
    return CachedFile::open(cache, name, k_units * k_unit_bytes);
  }
  std::shared_ptr<CachedFile> full_file(const std::string& name) const {
    auto opened = file(name);
    store(*opened, {0, k_units});
    return opened;
  }
  static void store(CachedFile& file, UnitRun units) {
    REQUIRE(file.claim(units).runs.size() == 1);
    REQUIRE(file.reserve(units));
    const std::vector<std::byte> zeros(units.size() * k_unit_bytes);
    const Bytes content = zeros;
    REQUIRE(file.write(units.first, {&content, 1}));
  }
  std::uint64_t remove(std::uint64_t units, Tick later = 0) const {
    return evict(cache->path() + "/files", units * k_unit_bytes, cache->orders(), CacheDirectory::now() + later,
                 cache->slots().token()) /
           k_unit_bytes;
  }
};

UnitRun one(std::uint64_t unit) { return {unit, unit + 1}; }

std::uint64_t disk_bytes(const std::string& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) == 0) bytes += 512 * static_cast<std::uint64_t>(info.st_blocks);
  }
  return bytes;
}

}  // namespace

TEST_CASE("what is used farthest in the future is removed first", "[storage]") {
  const Cache cache;
  const std::vector<std::shared_ptr<CachedFile>> files{cache.full_file("a"), cache.full_file("b")};
  std::vector<std::uint64_t> place(2 * Cache::k_units);  // of the units in the order of their use
  for (std::uint64_t i = 0; i < place.size(); ++i) place[i] = i;
  KeyedRandom{5}.shuffle(place);
  for (std::uint64_t i = 0; i < place.size(); ++i) {
    files[i / Cache::k_units]->will_use(one(i % Cache::k_units),
                                        {.order = k_job, .now = 100, .time = 101 + 1000 * place[i]});
  }
  for (const std::uint64_t kept : {1900, 1000, 40}) {
    std::uint64_t present = 0;
    for (const auto& file : files) present += file->num_present({0, Cache::k_units});
    CHECK(cache.remove(present - kept) == present - kept);
    for (std::uint64_t i = 0; i < place.size(); ++i) {
      // Times that differ by less than 1 in 256 are alike.
      if (place[i] < kept - kept / 128) CHECK(files[i / Cache::k_units]->has(one(i % Cache::k_units)));
      if (place[i] > kept + kept / 128) CHECK_FALSE(files[i / Cache::k_units]->has(one(i % Cache::k_units)));
    }
  }
}

TEST_CASE("of two uses the sooner counts, until it has passed", "[storage]") {
  const Cache cache;
  const auto file = cache.full_file("a");
  const auto use = [&](std::uint64_t unit, std::uint64_t now, std::uint64_t time) {
    file->will_use(one(unit), {.order = k_job, .now = now, .time = time});
  };
  for (std::uint64_t unit = 0; unit < Cache::k_units; ++unit) use(unit, 10, 5000);
  use(0, 10, 300);
  use(0, 10, 8000);  // by a neighbor
  use(1, 10, 15);
  use(1, 20, 8000);
  use(2, 20, NextUse::k_never);
  CHECK(cache.remove(1) == 1);
  CHECK_FALSE(file->has(one(1)));
  CHECK(cache.remove(Cache::k_units - 2) == Cache::k_units - 2);
  CHECK(file->has(one(0)));
}

TEST_CASE("what will not be used again is removed before the rest", "[storage]") {
  const Cache cache;
  const auto unknown = cache.full_file("a");
  const auto ended = cache.full_file("b");
  ended->will_use({0, 500}, {.order = k_job, .now = 1, .time = NextUse::k_never});
  CHECK(cache.remove(500) == 500);
  CHECK(ended->num_present({0, 500}) == 0);
  CHECK(unknown->has({0, Cache::k_units}));
}

TEST_CASE("without an order it is the least recently used that goes", "[storage]") {
  const Cache cache;
  const auto first = cache.full_file("a");
  const Tick begin = CacheDirectory::now();
  while (CacheDirectory::now() - begin < 2) {
  }
  const auto second = cache.full_file("b");
  CHECK(cache.remove(Cache::k_units) == Cache::k_units);
  CHECK(first->num_present({0, Cache::k_units}) == 0);
  CHECK(second->has({0, Cache::k_units}));
}

TEST_CASE("times of different orders are compared by their pace, and an ended one grows old", "[storage]") {
  const test::TempDir dir;
  OrderTable orders(dir / "orders");
  constexpr Tick k_now = ~Tick{0} - 100;  // the clock wraps around in the meantime
  constexpr Tick k_later = k_now + 500 * k_ticks_per_second;
  const std::uint32_t ended = orders.note({.order = k_job, .now = 1, .time = 2}, k_now);
  const std::uint32_t soon = orders.note({.order = k_other_job, .now = 1000, .time = 1001}, k_now);
  CHECK(orders.ticks_until(soon, k_now) == 1.0F);
  const std::uint64_t reached = 1000 + NextUse::k_epoch;
  const NextUse half_an_epoch{.order = k_other_job, .now = reached, .time = reached + NextUse::k_epoch / 2};
  CHECK(orders.ticks_until(orders.note(half_an_epoch, k_later), k_later) == 250.0F * k_ticks_per_second);
  CHECK_FALSE(orders.ticks_until(soon, k_later));  // has passed
  CHECK(orders.ticks_until(ended, k_later) == 500.0F * k_ticks_per_second);
  CHECK_FALSE(orders.ticks_until(OrderTable::k_unknown, k_later));
  CHECK(orders.ticks_until(orders.note({.order = k_job, .now = 3, .time = NextUse::k_never}, k_later), k_later) ==
        std::numeric_limits<float>::infinity());
}

TEST_CASE("more orders than the table has places", "[storage]") {
  const Cache cache;
  OrderTable& orders = cache.cache->orders();
  const Tick now = CacheDirectory::now();
  for (std::uint64_t order = 1; order <= 1000; ++order) {
    const auto tick = now + static_cast<Tick>(order);
    const std::uint32_t use = orders.note({.order = order, .now = 0, .time = 5}, tick);
    CHECK(use < std::uint32_t{1} << OrderTable::k_bits);
    CHECK(orders.ticks_until(use, tick) == 5.0F);
  }
}

TEST_CASE("the limit is that of all blocks on the disk", "[storage]") {
  const Cache cache;
  KeyedRandom random{9};
  std::uint64_t most = 0;
  for (std::uint64_t number = 0; number < 60; ++number) {  // 240 MB in scattered pieces
    const auto file = cache.file("file " + std::to_string(number));
    for (std::uint64_t unit = 0; unit + 20 < Cache::k_units;) {
      const UnitRun run{unit, unit + 1 + random.below(19)};
      Cache::store(*file, run);
      const std::uint64_t time = 2 + random.below(NextUse::k_epoch);
      file->will_use(run, {.order = k_job, .now = 1, .time = time});
      unit = run.end + random.below(3);
    }
    most = std::max(most, disk_bytes(cache.dir.path()));
  }
  CHECK(most <= k_limit);
  CHECK(most > k_limit - k_limit / 32);
  CHECK(cache.cache->used_bytes() <= k_limit);
}
