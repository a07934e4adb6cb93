// The shard index: what goes in comes out, and no flipped bit gets past load.
#include "bale/formats/core/shard_index.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

std::vector<std::byte> small_index() {
  IndexBuilder builder;
  const auto jpg = builder.add_field("jpg");
  const auto a = builder.add_sample("n01/a", 3, 640, 480);
  builder.set_extent(a, jpg, 512, 1000);
  builder.set_crc32c(a, jpg, 0x12345678);
  const auto json = builder.add_field("json", Codec::zstd);
  const auto b = builder.add_sample("n02/b");
  builder.set_extent(b, json, 2048, 20);
  return builder.build(4096, Digest{1, 2, 3}, true, "x.tar");
}

}  // namespace

TEST_CASE("an index gives back what was built") {
  const ShardIndex index = ShardIndex::from_bytes(small_index(), "x");
  REQUIRE(index.size() == 2);
  CHECK(index.key(0) == "n01/a");
  CHECK(index.key(1) == "n02/b");
  CHECK(index.label(0) == 3);
  CHECK(index.label(1) == k_no_label);
  CHECK(index.width(0) == 640);
  CHECK(index.height(0) == 480);
  CHECK(index.extent(0, 0).offset == 512);
  CHECK(index.extent(0, 0).crc32c == 0x12345678);
  CHECK_FALSE(index.extent(0, 1).present());
  CHECK_FALSE(index.extent(1, 0).present());
  CHECK(index.fields()[1].stored_name() == "json.zst");
  CHECK(index.fields()[0].stored_bytes == 1000);
  CHECK(index.find("n02/b") == 1U);
  CHECK_FALSE(index.find("n02/c"));
  CHECK(index.shard_bytes() == 4096);
  CHECK(index.digest() == Digest{1, 2, 3});
}

TEST_CASE("every single-bit flip and every truncation of an index is refused") {
  const std::vector<std::byte> good = small_index();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= std::byte(1U << (bit % 8));
    CHECK_THROWS_AS(ShardIndex::from_bytes(bad, "x"), Error);
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_AS(ShardIndex::from_bytes({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, "x"),
                    Error);
  }
}

TEST_CASE("duplicate keys are refused and named") {
  IndexBuilder builder;
  builder.add_sample("same");
  builder.add_sample("same");
  CHECK_THROWS_WITH(builder.build(0, std::nullopt, false, "x.tar"), Catch::Matchers::Contains("same"));
}
