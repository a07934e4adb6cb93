// Layers: what goes in comes out, no flipped bit gets past reading, and indexes are amended as they say.
#include "bale/formats/shard/layer.hpp"

#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/formats/shard/index_builder.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

const Layer k_removed{.kind = LayerKind::removed,
                      .shards = {{.shard = {1}, .rows = {0, 7}}, {.shard = {2}, .rows = {4'000'000'000}}}};
const Layer k_labels{.kind = LayerKind::label,
                     .shards = {{.shard = {1}, .rows = {1, 2}, .labels = {-1, 5'000'000'000}}}};

bool is_refused_layer(const std::vector<std::byte>& bytes) {
  return test::refuses_content([&] { parse_layer(bytes, "x"); });
}

/// Four samples a, b, c, d with labels 0 to 3; of d the label is in no field.
ShardIndex index_of_four() {
  IndexBuilder builder;
  const auto jpg = builder.add_field("jpg");
  const auto cls = builder.add_field("cls");
  for (const std::string_view key : {"a", "b", "c", "d"}) {
    const std::uint64_t i = builder.add_sample(key, static_cast<std::int64_t>(builder.size()), 10, 20);
    builder.set_condition(i, ImageCondition::complete);
    builder.set_extent(i, jpg, 100 * i, 50);
    builder.set_crc32c(i, jpg, 77);
    if (key != "d") builder.set_extent(i, cls, 100 * i + 50, 1);
  }
  return ShardIndex::from_bytes(builder.build(400, Digest{1}, true, "x", Digest{9}), "x");
}

ManifestLayer write(const test::TempDir& dir, const Layer& layer) {
  const std::vector<std::byte> bytes = layer_bytes(layer);
  const ManifestLayer described = describe_layer(layer, bytes);
  std::filesystem::create_directories(dir / std::string(k_layers_name));
  publish_file(dir / layer_name(described.digest), bytes);
  return described;
}

/// Values for rows 1 and 3 of the shard {1}, and 0 of {2}, which begin with "<".
ManifestLayer write_values(const test::TempDir& dir, const std::vector<std::string>& values,
                           const std::string& field = "txt") {
  std::filesystem::create_directories(dir / std::string(k_layers_name));
  FieldLayerWriter writer(dir / "new", field, as_bytes(std::string_view("<")),
                          {{.shard = {1}, .rows = {1, 3}}, {.shard = {2}, .rows = {0}}});
  for (const std::string& value : values) writer.add(as_bytes(value));
  ManifestLayer layer = writer.finish();
  publish_rename(dir / "new", dir / layer_name(layer.digest));
  return layer;
}

/// What reading everything in the layer ends with; nullopt if nothing is wrong.
std::optional<ErrorCode> error_of_values(const std::string& path) {
  try {
    const FieldLayer layer = FieldLayer::open(path);
    for (std::size_t n = 0; n < layer.shards().size(); ++n) {
      std::uint64_t at = layer.values_at(n);
      for (const FieldLayerRow& row : layer.rows(n)) {
        std::vector<std::byte> value(layer.prefix().size() + row.bytes);
        layer.read(at, value);
        at += row.bytes;
        if (crc32c(value) != row.crc32c) return ErrorCode::damaged;
      }
      if (!layer.has_values_as_written(n)) return ErrorCode::damaged;
    }
    return std::nullopt;
  } catch (const Error& error) {
    return error.code();
  }
}

/// Writes the bytes, with checksums that are right, under the name that their head has.
std::string publish_mended(const test::TempDir& dir, std::vector<std::byte> bytes, std::size_t head_bytes) {
  const std::uint32_t body = crc32c(Bytes(bytes).subspan(48, head_bytes - 48));
  std::memcpy(bytes.data() + 40, &body, sizeof body);
  const std::uint32_t header = crc32c(Bytes(bytes).first(44));
  std::memcpy(bytes.data() + 44, &header, sizeof header);
  DigestStream digest;
  digest.update(Bytes(bytes).first(head_bytes));
  std::string path = dir / layer_name(digest_text(digest.digest()));
  publish_file(path, bytes);
  return path;
}

}  // namespace

TEST_CASE("a layer is read as it was written") {
  for (const Layer& layer : {k_removed, k_labels}) {
    const std::vector<std::byte> bytes = layer_bytes(layer);
    const Layer read = parse_layer(bytes, "x");
    CHECK(read.kind == layer.kind);
    REQUIRE(read.shards.size() == layer.shards.size());
    for (std::size_t n = 0; n < read.shards.size(); ++n) {
      CHECK(read.shards[n].shard == layer.shards[n].shard);
      CHECK(read.shards[n].rows == layer.shards[n].rows);
      CHECK(read.shards[n].labels == layer.shards[n].labels);
    }
  }
}

TEST_CASE("every flipped bit and every cut of a layer is found") {
  for (const Layer& layer : {k_removed, k_labels}) {
    const std::vector<std::byte> whole = layer_bytes(layer);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::vector<std::byte> bytes = whole;
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      REQUIRE(is_refused_layer(bytes));
    }
    for (std::size_t size = 0; size < whole.size(); ++size) {
      REQUIRE(is_refused_layer({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}));
    }
  }
}

TEST_CASE("layers with checksums that are right are refused if they are out of order") {
  for (const std::vector<std::uint32_t>& rows : {std::vector<std::uint32_t>{}, {1, 1}, {2, 1}}) {
    CHECK(is_refused_layer(layer_bytes({.shards = {{.shard = {1}, .rows = rows}}})));
  }
  CHECK(is_refused_layer(layer_bytes({.shards = {{.shard = {2}, .rows = {1}}, {.shard = {1}, .rows = {1}}}})));
  CHECK(is_refused_layer(layer_bytes({.shards = {{.shard = {1}, .rows = {1}}, {.shard = {1}, .rows = {2}}}})));
  const Error newer = test::error_of([] { parse_layer(layer_bytes({.kind = static_cast<LayerKind>(9)}), "x"); });
  CHECK(newer.code() == ErrorCode::unsupported);
}

TEST_CASE("an amended index has neither the removed samples nor the old labels") {
  const ShardIndex index = index_of_four();
  const ShardIndex amended = amend(index, {.removed = {0, 2}, .labels = {{1, 30}, {2, 9}, {3, 31}}}, "x");
  REQUIRE(amended.size() == 2);
  CHECK(amended.key(0) == "b");
  CHECK(amended.key(1) == "d");
  CHECK(amended.find("b") == 0U);
  CHECK_FALSE(amended.find("a"));
  CHECK(amended.label(0) == 30);
  CHECK(amended.label(1) == 31);
  CHECK(amended.width(1) == 10);
  CHECK(amended.condition(1) == ImageCondition::complete);
  CHECK(amended.digest() == index.digest());
  CHECK(amended.ends_digest() == index.ends_digest());
  CHECK(amended.extent(1, 0).offset == 300);
  CHECK(amended.extent(1, 0).crc32c == 77);
  const Extent cls = amended.extent(0, *amended.field_id("cls"));
  CHECK(cls.is_label_text());
  CHECK(cls.length == 2);
  CHECK(cls.crc32c == crc32c(as_bytes(std::string_view("30"))));
  CHECK(amended.identity() != index.identity());
  CHECK(amend(index, {.removed = {0, 1, 2, 3}}, "x").size() == 0);
  CHECK(amend(index, {}, "x").identity() == index.identity());
  CHECK(test::error_of([&] { amend(index, {.removed = {4}}, "x"); }).code() == ErrorCode::damaged);
}

TEST_CASE_METHOD(test::InTempDir, "of several layers the last one takes precedence") {
  Manifest manifest{.name = "x", .format = "tar", .layout = "plain"};
  const std::string shard = digest_text(Digest{1});
  manifest.layers = {write(dir, k_removed), write(dir, k_labels),
                     write(dir, {.kind = LayerKind::label, .shards = {{.shard = {1}, .rows = {2}, .labels = {6}}}}),
                     write(dir, {.kind = LayerKind::removed, .shards = {{.shard = {1}, .rows = {0, 3}}}})};
  const Layers layers(dir.path(), manifest);
  const ShardAmendments* const amendments = layers.of(shard);
  REQUIRE(amendments != nullptr);
  CHECK(amendments->removed == std::vector<std::uint32_t>{0, 3, 7});
  CHECK(amendments->labels == std::vector<std::pair<std::uint32_t, std::int64_t>>{{1, -1}, {2, 6}});
  CHECK(layers.of(digest_text(Digest{3})) == nullptr);
  CHECK(Layers(layers.paths()).of(shard)->labels == amendments->labels);

  const std::string text = manifest_text(manifest);
  CHECK(text.find("\"bale_manifest\": 2") != std::string::npos);
  const Manifest read = parse_manifest(text, "m");
  CHECK(manifest_text(read) == text);
  manifest.layers.front().num_rows = 1;
  CHECK(test::error_of([&] { Layers(dir.path(), manifest).load(); }).code() == ErrorCode::damaged);
  manifest.layers.front().kind = "field txt";
  CHECK(test::error_of([&] { Layers(dir.path(), manifest).load(); }).code() == ErrorCode::damaged);
  manifest.layers.front().digest = "../../x";
  CHECK_THROWS_AS(parse_manifest(manifest_text(manifest), "m"), Error);
}

TEST_CASE_METHOD(test::InTempDir, "layers are read when they are needed, and again after an error") {
  Manifest manifest{.name = "x", .format = "tar", .layout = "plain"};
  manifest.layers = {write(dir, k_removed)};
  const std::string path = dir / layer_name(manifest.layers.front().digest);
  std::filesystem::rename(path, dir / "elsewhere");
  const Layers layers(dir.path(), manifest);
  const Layers copy = layers;
  CHECK(layers.paths() == std::vector{path});
  CHECK(layers.listed().front().num_rows == 3);
  CHECK(test::error_of([&] { layers.of(digest_text(Digest{1})); }).code() == ErrorCode::not_found);
  CHECK(test::error_of([&] { copy.amend(index_of_four(), "", "x"); }).code() == ErrorCode::not_found);
  std::filesystem::rename(dir / "elsewhere", path);
  CHECK(copy.of(digest_text(Digest{1})) != nullptr);
  std::filesystem::remove(path);
  CHECK(layers.of(digest_text(Digest{2})) == copy.of(digest_text(Digest{2})));
  for (const std::string& other : {std::string(), std::string("xxh3:"), digest_text(Digest{1}).substr(5)})
    CHECK(layers.of(other) == nullptr);
}

TEST_CASE_METHOD(test::InTempDir, "values of a field are read as they were written") {
  Manifest manifest{.name = "x", .format = "tar", .layout = "plain"};
  manifest.layers = {write_values(dir, {"one", "", "other"}), write(dir, k_labels),
                     write(dir, {.shards = {{.shard = {1}, .rows = {0}}}}),
                     write_values(dir, {"two", "three", "x"}, "cap")};
  CHECK(manifest.layers.front().kind == "field txt");
  CHECK(field_of_layer(manifest.layers.front()) == "txt");
  CHECK_FALSE(field_of_layer(manifest.layers[1]));
  for (const Layers& layers : {Layers(dir.path(), manifest), Layers(Layers(dir.path(), manifest).paths())}) {
    REQUIRE(layers.of(digest_text(Digest{1})) != nullptr);
    const ShardIndex amended = layers.amend(index_of_four(), digest_text(Digest{1}), "x");
    REQUIRE(amended.size() == 3);  // b, c, d
    const auto value_of = [&](std::uint64_t i, const std::string& field) -> std::string {
      const Extent extent = amended.extent(i, amended.field_id(field).value());
      if (!extent.present()) return "-";
      CHECK(is_in_layer(extent));
      CHECK_FALSE(is_in_container(extent));
      std::vector<std::byte> value(extent.length);
      Layers(layers.paths()).read(extent, value);
      CHECK(crc32c(value) == extent.crc32c);
      return std::string(as_text(value));
    };
    CHECK(value_of(0, "txt") == "<one");
    CHECK(value_of(1, "txt") == "-");
    CHECK(value_of(2, "txt") == "<");
    CHECK(value_of(2, "cap") == "<three");
    CHECK(amended.width(0) == 10);
    CHECK(is_in_container(amended.extent(0, *amended.field_id("jpg"))));
  }
  manifest.layers = {write_values(dir, {"one", "", "other"}), write_values(dir, {"last", "too", "x"}),
                     write_values(dir, {"another", "image", "x"}, "jpg")};
  const Layers layers(dir.path(), manifest);
  const ShardIndex amended = layers.amend(index_of_four(), digest_text(Digest{1}), "x");
  std::vector<std::byte> value(5);
  layers.read(amended.extent(1, *amended.field_id("txt")), value);
  CHECK(as_text(value) == "<last");  // of several values the last one counts
  CHECK(amended.width(1) == 0);      // of another image
  CHECK(amended.width(2) == 10);
  CHECK(amended.extent(1, *amended.field_id("jpg")).length == 8);
  CHECK(test::error_of([&] {
          layers.amend(index_of_four(), digest_text(Digest{2}), "x");
          Layers().read(amended.extent(1, 0), value);
        }).code() == ErrorCode::damaged);
  manifest.layers.front().kind = "removed";
  CHECK(test::error_of([&] { Layers(dir.path(), manifest).load(); }).code() == ErrorCode::damaged);
  manifest.layers.front().kind = "field cap";
  CHECK(test::error_of([&] { Layers(dir.path(), manifest).load(); }).code() == ErrorCode::damaged);
}

TEST_CASE_METHOD(test::InTempDir, "every flipped bit and every cut of a layer of values is found") {
  const std::string path = dir / layer_name(write_values(dir, {"one", "", "other"}).digest);
  const std::vector<std::byte> whole = read_file(path);
  REQUIRE_FALSE(error_of_values(path));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::vector<std::byte> bytes = whole;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    publish_file(path, bytes);
    const std::optional<ErrorCode> found = error_of_values(path);
    REQUIRE((found == ErrorCode::damaged || found == ErrorCode::unsupported));
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    publish_file(path, Bytes(whole).first(size));
    REQUIRE(error_of_values(path) == ErrorCode::damaged);
  }
}

TEST_CASE_METHOD(test::InTempDir, "heads of layers of values that lie are refused") {
  const std::string path = dir / layer_name(write_values(dir, {"one", "", "other"}).digest);
  const std::vector<std::byte> whole = read_file(path);
  const std::size_t head_bytes = 48 + 8 + 3 + 1 + 2 * 64;
  REQUIRE(publish_mended(dir, whole, head_bytes) == path);
  for (std::size_t at = 8; at + 8 <= head_bytes; at += 4) {
    for (const std::uint64_t lie : {std::uint64_t{0}, std::uint64_t{3}, ~std::uint64_t{0}, std::uint64_t{1} << 32}) {
      std::vector<std::byte> bytes = whole;
      std::memcpy(bytes.data() + at, &lie, sizeof lie);
      if (bytes == whole) continue;
      error_of_values(publish_mended(dir, bytes, head_bytes));  // no crash, and only bale's errors
    }
  }
  for (std::size_t size = 56; size < whole.size(); ++size)
    REQUIRE(error_of_values(publish_mended(dir, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)},
                                           std::min(size, head_bytes))));
}
