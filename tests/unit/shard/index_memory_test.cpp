// Indexes that processes share: the same content at every place and in every mapping, and nothing lost if there is no
// room.
#include "bale/formats/shard/index/index_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/shard/index_builder.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

std::shared_ptr<IndexMemory> new_memory() {
  return std::make_shared<IndexMemory>(::memfd_create("indexes", MFD_CLOEXEC));
}

/// As another process sees it.
std::shared_ptr<IndexMemory> attached(const IndexMemory& memory) {
  return std::make_shared<IndexMemory>(::dup(memory.fd()));
}

/// Some samples have a text.
ShardIndex index_of(std::uint64_t num_samples) {
  IndexBuilder builder;
  const auto jpg = builder.add_field("jpg");
  const auto txt = builder.add_field("txt");
  for (std::uint64_t n = 0; n < num_samples; ++n) {
    const std::uint64_t i = builder.add_sample(fmt::format("{:08}", n), static_cast<std::int64_t>(n % 10), 640, 480);
    builder.set_extent(i, jpg, 1000 * n, 500);
    if (n % 3 == 0) builder.set_extent(i, txt, 1000 * n + 500, 7);
  }
  return ShardIndex::from_bytes(builder.build(1000 * num_samples, Digest{1}, false, "x.tar"), "x.tar.bidx");
}

void check_same(const ShardIndex& a, const ShardIndex& b) {
  REQUIRE(a.size() == b.size());
  CHECK(a.identity() == b.identity());
  CHECK(as_text(a.bytes()) == as_text(b.bytes()));
  CHECK(a.digest() == b.digest());
  for (std::uint64_t i = 0; i < a.size(); i += 1 + a.size() / 100) {
    CHECK(a.key(i) == b.key(i));
    CHECK(a.find(b.key(i)) == i);
    CHECK(a.label(i) == b.label(i));
    CHECK(a.width(i) == b.width(i));
    CHECK(a.image_field(i) == b.image_field(i));
    for (std::uint32_t field = 0; field < a.fields().size(); ++field) {
      CHECK(a.extent(i, field).offset == b.extent(i, field).offset);
      CHECK(a.extent(i, field).length == b.extent(i, field).length);
    }
  }
}

}  // namespace

TEST_CASE("An index in shared memory reads as the one that was put there, whatever its size") {
  const auto memory = new_memory();
  const auto other = attached(*memory);
  for (const std::uint64_t num_samples : {std::uint64_t{5}, std::uint64_t{70'000}, std::uint64_t{0},
                                          std::uint64_t{300'000}, std::uint64_t{150'000}, std::uint64_t{1}}) {
    ShardIndex moved = index_of(num_samples);
    CHECK(moved.place().bytes == 0);
    moved.keep_in(memory);
    CHECK(moved.place().bytes == moved.bytes().size());
    check_same(moved, index_of(num_samples));
    const auto seen = ShardIndex::from_memory(other, moved.place(), "x.tar.bidx");
    REQUIRE(seen != nullptr);
    check_same(*seen, moved);
  }
}

TEST_CASE("An index stays where it is if shared memory has no room for it") {
  const auto memory = new_memory();
  memory->set_limit(10'000);
  ShardIndex large = index_of(1'000);
  large.keep_in(memory);
  CHECK(large.place().bytes == 0);
  check_same(large, index_of(1'000));
  ShardIndex small = index_of(5);
  small.keep_in(memory);
  CHECK(small.place().bytes > 0);
  check_same(small, index_of(5));
}

TEST_CASE("An index stays where it is if the system gives no memory") {
  const auto memory = std::make_shared<IndexMemory>(-1);
  ShardIndex index = index_of(5);
  index.keep_in(memory);
  CHECK(index.place().bytes == 0);
  check_same(index, index_of(5));
}
