// The shard index: what goes in comes out, and no flipped bit gets past load.
#include "bale/formats/shard/shard_index.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/index/index_layout.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

using namespace bale;

namespace {

IndexBuilder sparse_builder() {
  IndexBuilder builder;
  const auto jpg = builder.add_field("jpg");
  const auto a = builder.add_sample("n01/a", 3, 640, 480);
  builder.set_extent(a, jpg, 512, 1000);
  builder.set_crc32c(a, jpg, 0x12345678);
  const auto json = builder.add_field("json", Codec::zstd);
  const auto b = builder.add_sample("n02/b");
  builder.set_extent(b, json, 2048, 20);
  builder.set_condition(b, ImageCondition::incomplete);
  return builder;
}

std::vector<std::byte> sparse_index() {
  return sparse_builder().build(4096, Digest{1, 2, 3}, true, "x.tar", Digest{4, 5, 6});
}

/// Every sample has every field.
std::vector<std::byte> dense_index() {
  IndexBuilder builder;
  const auto jpg = builder.add_field("jpg");
  const auto cls = builder.add_field("cls");
  for (const std::string_view key : {"c", "a", "b"}) {
    const std::uint64_t i = builder.add_sample(key, 7);
    builder.set_extent(i, jpg, 100 * i, 50);
    builder.set_extent(i, cls, 100 * i + 50, 1);
  }
  return builder.build(300, std::nullopt, false, "x.tar");
}

/// As version 0.1.0 wrote it: formats/shard/index/INDEX.md, version 1.
std::vector<std::byte> golden_index() { return read_file(BALE_TEST_GOLDEN "/0.1.0/tar.fields/golden-000000.tar.bidx"); }

/// Keys with the same XXH3-64. Of inputs of 32 bytes, XXH3 multiplies the second 8 bytes by the first 8, which here
/// cancel its secret.
std::string key_of_one_hash(std::uint64_t number) {
  std::string key = "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe" + std::string(24, 'x');
  std::memcpy(key.data() + 8, &number, sizeof number);
  return key;
}

bool is_refused(std::vector<std::byte> bytes) {
  return test::refuses_content([&] { ShardIndex::from_bytes(std::move(bytes), "x"); });
}

}  // namespace

TEST_CASE("An index gives back what was built") {
  const ShardIndex index = ShardIndex::from_bytes(sparse_index(), "x");
  REQUIRE(index.size() == 2);
  CHECK(index.version() == 2);
  CHECK(index.key(0) == "n01/a");
  CHECK(index.key(1) == "n02/b");
  CHECK(index.label(0) == 3);
  CHECK(index.label(1) == k_no_label);
  CHECK(index.width(0) == 640);
  CHECK(index.height(0) == 480);
  CHECK(index.condition(0) == ImageCondition::unknown);
  CHECK(index.condition(1) == ImageCondition::incomplete);
  CHECK(index.extent(0, 0).offset == 512);
  CHECK(index.extent(0, 0).crc32c == 0x12345678);
  CHECK_FALSE(index.extent(0, 1).present());
  CHECK_FALSE(index.extent(1, 0).present());
  CHECK(index.extent(1, 1).offset == 2048);
  CHECK(index.image_field(0) == 0U);
  CHECK_FALSE(index.image_field(1));
  CHECK(index.fields()[1].stored_name() == "json.zst");
  CHECK(index.fields()[0].stored_bytes == 1000);
  CHECK(index.fields()[0].num_samples == 1);
  CHECK(index.find("n02/b") == 1U);
  CHECK_FALSE(index.find("n02/c"));
  CHECK(index.shard_bytes() == 4096);
  CHECK(index.digest() == Digest{1, 2, 3});
  CHECK(index.ends_digest() == Digest{4, 5, 6});
}

TEST_CASE("An index of samples that have all fields gives back what was built") {
  const ShardIndex index = ShardIndex::from_bytes(dense_index(), "x");
  REQUIRE(index.size() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(index.extent(i, 0).offset == 100 * i);
    CHECK(index.extent(i, 1).offset == 100 * i + 50);
    CHECK(std::distance(index.row(i).begin(), index.row(i).end()) == 2);
    CHECK(index.find(index.key(i)) == i);
  }
  CHECK_FALSE(index.digest());
  CHECK_FALSE(index.ends_digest());
}

TEST_CASE("An index of version 1 is read in place") {
  const ShardIndex index = ShardIndex::from_bytes(golden_index(), "x");
  CHECK(index.version() == 1);
  REQUIRE(index.size() > 0);
  std::uint64_t num_extents = 0;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    CHECK(index.find(index.key(i)) == i);
    CHECK(index.condition(i) == ImageCondition::unknown);
    REQUIRE(index.image_field(i));
    for (const auto& [field, extent] : index.row(i)) {
      CHECK(extent.present());
      CHECK(index.extent(i, field).offset == extent.offset);
      ++num_extents;
    }
  }
  std::uint64_t counted = 0;
  for (const FieldInfo& field : index.fields()) counted += field.num_samples;
  CHECK(counted == num_extents);
  CHECK(index.digest());
  CHECK_FALSE(index.ends_digest());
}

TEST_CASE("every single-bit flip and every truncation of an index is refused") {
  for (const std::vector<std::byte>& good : {sparse_index(), dense_index(), golden_index()}) {
    REQUIRE_FALSE(is_refused(good));
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      std::vector<std::byte> bad = good;
      bad[bit / 8] ^= std::byte(1U << (bit % 8));
      CHECK(is_refused(bad));
    }
    for (std::size_t size = 0; size < good.size(); ++size) {
      CHECK(is_refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}));
    }
  }
}

TEST_CASE("duplicate keys are refused and named") {
  IndexBuilder builder;
  builder.add_sample("same");
  builder.add_sample("same");
  CHECK_THROWS_WITH(builder.build(0, std::nullopt, false, "x.tar"), ContainsSubstring("same"));
}

TEST_CASE("Keys made to have one hash are indexed and found as fast as others") {
  constexpr std::uint64_t k_keys = 300'000;
  REQUIRE(hash_key(key_of_one_hash(1)) == hash_key(key_of_one_hash(2)));
  IndexBuilder builder;
  for (std::uint64_t i = 0; i < k_keys; ++i) builder.add_sample(key_of_one_hash(i * 7919 % k_keys));
  const ShardIndex index = ShardIndex::from_bytes(builder.build(0, std::nullopt, false, "x"), "x");
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < k_keys; ++i) found += index.find(index.key(i)) == i ? 1 : 0;
  CHECK(found == k_keys);
  CHECK_FALSE(index.find(key_of_one_hash(k_keys)));
  builder.add_sample(key_of_one_hash(5));
  CHECK_THROWS_AS(builder.build(0, std::nullopt, false, "x"), Error);
}

TEST_CASE("An index has up to 65,535 columns, and no room is taken for what samples lack") {
  constexpr std::uint64_t k_samples = 100'000;
  IndexBuilder builder;
  for (std::size_t f = 0; f < k_max_index_fields; ++f) {
    CHECK_FALSE(builder.stored_field_id(fmt::format("{:06}", f)));
    builder.add_field(fmt::format("{:06}", f));
  }
  CHECK_THROWS_WITH(builder.add_field("one more"), ContainsSubstring("more than 65535 different fields"));
  for (std::uint64_t i = 0; i < k_samples; ++i) {
    builder.add_sample(fmt::format("{:08}", i));
    builder.set_extent(i, static_cast<std::uint32_t>(i % k_max_index_fields), i * 10, 10);
    builder.set_extent(i, static_cast<std::uint32_t>(i * 31 % k_max_index_fields), i * 10 + 5, 5);
  }
  const ShardIndex index = ShardIndex::from_bytes(builder.build(2'000'000, std::nullopt, false, "x"), "x");
  CHECK(index.fields().size() == k_max_index_fields);
  CHECK(index.bytes().size() < k_samples * 128 + k_max_index_fields * 64);
  for (std::uint64_t i = 1; i < k_samples; i += 997) {
    CHECK(index.extent(i, static_cast<std::uint32_t>(i * 31 % k_max_index_fields)).offset == i * 10 + 5);
    CHECK_FALSE(index.extent(i, static_cast<std::uint32_t>((i + 1) % k_max_index_fields)).present());
    CHECK(index.field_id(fmt::format("{:06}", i % k_max_index_fields)) == i % k_max_index_fields);
  }
}

TEST_CASE("A field's name may have 4096 bytes") {
  const std::string name(k_max_field_name_bytes, 'n');
  IndexBuilder builder;
  builder.add_sample("a");
  builder.set_extent(0, builder.add_field(name), 0, 1);
  CHECK_THROWS_WITH(builder.add_field(name + 'n'), ContainsSubstring("has 4097 bytes, more than 4096"));
  const ShardIndex index = ShardIndex::from_bytes(builder.build(1, std::nullopt, false, "x"), "x");
  CHECK(index.fields()[0].name == name);
  CHECK(index.field_id(name) == 0U);
}

TEST_CASE("A sample's fields may be set in any order, however many it has") {
  constexpr std::uint32_t k_fields = 20'000;
  IndexBuilder builder;
  for (std::uint32_t f = 0; f < k_fields; ++f) builder.add_field(fmt::format("f{}", f));
  for (const std::string_view key : {"first", "second", "third"}) builder.add_sample(key);
  for (std::uint32_t n = 0; n < k_fields; ++n) {
    const std::uint32_t f = k_fields - 1 - n;
    builder.set_crc32c(1, f, f);
    builder.set_extent(1, f, 0, 1);
    builder.set_extent(1, f, f * 2, 2);
    if (f % 2 == 0) builder.set_extent(2, f, f, 1);
  }
  CHECK(builder.extent(1, 17).offset == 34);
  CHECK_FALSE(builder.extent(2, 17).present());
  CHECK(builder.fields()[17].stored_bytes == 2);
  const ShardIndex index = ShardIndex::from_bytes(builder.build(k_fields * 2, std::nullopt, true, "x"), "x");
  CHECK(index.row(0).begin() == index.row(0).end());
  std::uint32_t next = 0;
  for (const auto& [field, extent] : index.row(1)) {
    REQUIRE(field == next++);
    REQUIRE((extent.offset == field * 2 && extent.length == 2 && extent.crc32c == field));
  }
  CHECK(next == k_fields);
  for (std::uint32_t f = 0; f < k_fields; ++f) REQUIRE(index.extent(2, f).present() == (f % 2 == 0));
}

TEST_CASE("A field without a place is not a field") {
  IndexBuilder builder = sparse_builder();
  builder.set_crc32c(1, 0, 1);
  builder.add_field("never");
  const ShardIndex index = ShardIndex::from_bytes(builder.build(4096, std::nullopt, true, "x"), "x");
  CHECK(index.fields().size() == 2);
  CHECK_FALSE(index.extent(1, 0).present());
}

TEST_CASE("A codec of later versions is not damage") {
  std::vector<std::byte> index = sparse_index();
  const FieldRow row{.stored_bytes = 20, .num_samples = 1, .name_end = 7, .codec = 1, .located = 1, .reserved = {}};
  const auto at = std::search(index.begin(), index.end(), std::as_bytes(std::span(&row, 1)).begin(),
                              std::as_bytes(std::span(&row, 1)).end());
  REQUIRE(at != index.end());
  at[offsetof(FieldRow, codec)] = std::byte{7};
  auto header = load_at<IndexHeader>(index.data());
  header.body_crc32c = crc32c(Bytes(index).subspan(sizeof header));
  std::memcpy(index.data(), &header, sizeof header);
  header.header_crc32c = crc32c(Bytes(index).first(offsetof(IndexHeader, header_crc32c)));
  std::memcpy(index.data(), &header, sizeof header);
  const Error error = test::error_of([&] { ShardIndex::from_bytes(std::move(index), "x"); });
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK_THAT(error.what(), ContainsSubstring("codec 7; use a newer bale"));
}

TEST_CASE("An index that places a field beyond any file is refused") {
  IndexBuilder builder;
  builder.add_sample("a");
  builder.set_extent(0, builder.add_field("jpg"), ~std::uint64_t{0} - 100, 10);
  CHECK(is_refused(builder.build(1000, std::nullopt, true, "x")));
}

TEST_CASE("More indexes than a process may have files mapped are read into memory") {
  const std::string path = BALE_TEST_GOLDEN "/0.1.0/tar.fields/golden-000000.tar.bidx";
  const auto num_mappings = [] { return std::ranges::count(as_text(read_file("/proc/self/maps")), '\n'); };
  constexpr std::size_t k_count = 20'000;
  const auto before = num_mappings();
  std::vector<ShardIndex> indexes;
  for (std::size_t i = 0; i < k_count; ++i) indexes.push_back(ShardIndex::load(path));
  CHECK(num_mappings() - before < 17'000);
  CHECK(indexes.front().key(0) == indexes.back().key(0));
}
