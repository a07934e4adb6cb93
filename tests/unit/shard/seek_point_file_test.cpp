// The file of seek points: what goes in comes out, and no flipped bit goes unnoticed.
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

constexpr std::size_t k_header_bytes = 64;

std::vector<std::byte> small_file() {
  SeekPointFileBuilder builder;
  builder.add(as_bytes("first"));
  builder.add({});
  builder.add(as_bytes("the third"));
  return builder.build(4096);
}

}  // namespace

TEST_CASE("a file of seek points gives back what was built") {
  const SeekPointFile file = SeekPointFile::from_bytes(small_file(), "x");
  REQUIRE(file.size() == 3);
  CHECK(file.shard_bytes() == 4096);
  CHECK(as_text(file.record(0)) == "first");
  CHECK(file.record(1).empty());
  CHECK(as_text(file.record(2)) == "the third");
  CHECK(file.records_are_whole());
  CHECK(SeekPointFile::from_bytes(SeekPointFileBuilder().build(0), "x").size() == 0);
}

TEST_CASE("every single-bit flip and every truncation of a file of seek points is noticed") {
  const std::vector<std::byte> good = small_file();
  const std::size_t first_record = k_header_bytes + 3 * sizeof(std::uint64_t);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= std::byte(1U << (bit % 8));
    if (bit / 8 < first_record) {
      CHECK_THROWS_AS(SeekPointFile::from_bytes(bad, "x"), Error);
    } else {
      CHECK_FALSE(SeekPointFile::from_bytes(bad, "x").records_are_whole());
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_AS(SeekPointFile::from_bytes({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, "x"),
                    Error);
  }
}
