// TFRecord: frames, examples of ours and of others, damage.
#include <fmt/format.h>

#include "bale/formats/registry/registry.hpp"
#include "bale/tests/unit/formats/format_support.hpp"

using namespace bale;
using namespace bale::test;
using Fields = std::vector<OwnedField>;

namespace {

const Format& tfrecord() { return *find_format("tfrecord").format; }

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

/// As TensorFlow's record_writer.cc masks it.
std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(as_bytes(bytes));
  return little_endian(((crc >> 15) | (crc << 17)) + 0xA282EAD8U, 4);
}

std::string frame(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + data + masked_crc(data);
}

// Protobuf by hand: the encoding guide's varints and tags.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}
std::string field(int number, const std::string& content) {
  return varint(static_cast<unsigned>(number) << 3 | 2U) + varint(content.size()) + content;
}
std::string bytes_list(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += field(1, value);
  return field(1, list);
}
std::string float_bits(float value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); }
std::string packed_floats(const std::vector<float>& values) {
  std::string list;
  for (const float value : values) list += float_bits(value);
  return field(2, field(1, list));
}
std::string packed_integers(const std::vector<std::int64_t>& values) {
  std::string list;
  for (const std::int64_t value : values) list += varint(static_cast<std::uint64_t>(value));
  return field(3, field(1, list));
}
std::string entry(const std::string& name, const std::string& feature) {
  return field(1, field(1, name) + field(2, feature));
}
std::string example(const std::string& entries) { return field(1, entries); }

const std::string k_jpeg = from_hex("ffd8ffe0") + " image";

std::vector<OwnedSample> scanned(const TempDir& dir, const std::string& bytes) {
  spit(dir / "x", bytes);
  return read_samples(tfrecord(), dir / "x");
}

std::string failure(const TempDir& dir, const std::string& bytes, ErrorCode code = ErrorCode::damaged) {
  return message_of(code, [&] { scanned(dir, bytes); });
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "a shard of ours, byte for byte") {
  const std::vector<OwnedSample> samples{
      {"n01/a", 1, {{"cls", "1"}, {"jpg", k_jpeg}, {"txt", ""}}},
      {"b", k_no_label, {{"json.zst", "(zstd)"}, {"png", std::string(5000, 'p')}}},
  };
  const ShardIndex index =
      pack_plain(tfrecord(), dir / "x", samples, {.class_names = {"cat", "dog"}, .width = 96, .height = 300});
  const std::string first =
      frame(example(entry("__key__", bytes_list({"n01/a"})) + entry("image/class/label", packed_integers({1})) +
                    entry("image/class/text", bytes_list({"dog"})) + entry("image/filename", bytes_list({"a.jpg"})) +
                    entry("image/format", bytes_list({"JPEG"})) + entry("image/height", packed_integers({300})) +
                    entry("image/width", packed_integers({96})) + entry("cls", bytes_list({"1"})) +
                    entry("txt", bytes_list({""})) + entry("image/encoded", bytes_list({k_jpeg}))));
  const std::string second =
      frame(example(entry("__key__", bytes_list({"b"})) + entry("image/filename", bytes_list({"b.png"})) +
                    entry("image/format", bytes_list({"PNG"})) + entry("image/height", packed_integers({300})) +
                    entry("image/width", packed_integers({96})) + entry("json.zst", bytes_list({"(zstd)"})) +
                    entry("image/encoded", bytes_list({samples[1].fields[1].bytes}))));
  CHECK(slurp(dir / "x") == first + second);
  CHECK(sidecar_text(tfrecord(), ".idx", dir / "x", index) ==
        fmt::format("0 {}\n{} {}\n", first.size(), first.size(), second.size()));

  const ShardIndex found = scan_shard(dir / "x", tfrecord());
  CHECK(found.width(0) == 0);  // only the image's header says it
  CHECK(found.label(0) == 1);
  CHECK(found.label(1) == k_no_label);
  CHECK(found.fields()[*found.field_id("json")].codec == Codec::zstd);
  CHECK(found.key(0) == "n01/a");
}

TEST_CASE_METHOD(InTempDir, "labels for others count from the base, ours do not") {
  const std::vector<OwnedSample> samples{{"a", 0, {{"cls", "0"}, {"jpg", k_jpeg}}},
                                         {"b", 999, {{"cls", "999"}, {"jpg", k_jpeg}}}};
  ShardIndex index = pack_plain(tfrecord(), dir / "x", samples, {.format_options = {{"label_base", "1"}}});
  CHECK(slurp(dir / "x").find(entry("image/class/label", packed_integers({1000}))) != std::string::npos);
  CHECK(read_samples(tfrecord(), dir / "x") == samples);
  CHECK(read_samples(Shard::open(dir / "x", tfrecord(), std::move(index))) == samples);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_WITH(pack_plain(tfrecord(), dir / "y", {{"a", most, {{"cls", std::to_string(most)}}}},
                               {.format_options = {{"label_base", "1"}}}),
                    ContainsSubstring("too large for a label base"));
  CHECK_THROWS_WITH(
      pack_plain(tfrecord(), dir / "y", {{"a", 3, {{"jpg", k_jpeg}}}}, {.format_options = {{"label_base", "1"}}}),
      ContainsSubstring("needs the label in a field cls"));
  CHECK_THROWS_WITH(pack_plain(tfrecord(), dir / "y", {}, {.format_options = {{"label_base", "one"}}}),
                    ContainsSubstring("`label_base` is \"one\""));
  CHECK_THROWS_WITH(pack_plain(tfrecord(), dir / "y", {}, {.format_options = {{"level", "1"}}}),
                    ContainsSubstring("no option"));
}

TEST_CASE_METHOD(InTempDir, "fields that would be read as something else are refused") {
  for (const char* name : {"__key__", "image/encoded", "a/b"}) {
    CHECK_THROWS_WITH(pack_plain(tfrecord(), dir / "x", {{"a", k_no_label, {{name, "text"}}}}),
                      ContainsSubstring("cannot be stored"));
  }
  // Of 2 GiB, none of which is looked at.
  const auto writer = tfrecord().create({.path = dir / "x", .layout = "example"});
  const std::byte byte{};
  const std::vector<FieldView> large{{"jpg", Bytes(&byte, std::size_t{1} << 31)}};
  CHECK_THROWS_WITH(writer->add({.key = "a", .fields = large}), ContainsSubstring("2 GiB"));
}

TEST_CASE_METHOD(InTempDir, "examples in slim's names") {
  const std::string entries =
      entry("image/encoded", bytes_list({k_jpeg})) + entry("image/class/label", packed_integers({449})) +
      entry("image/height", packed_integers({375})) + entry("image/width", packed_integers({500})) +
      entry("image/format", bytes_list({"JPEG"})) + entry("image/filename", bytes_list({"n03976657_10026.JPEG"})) +
      entry("image/colorspace", bytes_list({"RGB"})) + entry("image/channels", packed_integers({3})) +
      entry("image/class/synset", bytes_list({"n03976657"})) + entry("image/object/number", packed_integers({0})) +
      entry("image/object/bbox/xmin", packed_floats({0.1F, 1, -2.5e-8F})) +
      entry("image/object/bbox/label", field(3, "")) + entry("image/object/names", bytes_list({"a \"b\"", "\xFF"}));
  const std::vector<OwnedSample> found = scanned(dir, frame(example(entries)) + frame(example(entries)));
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "n03976657_10026");
  CHECK(found[1].key == "n03976657_10026-00000001");  // the same file name twice
  CHECK(found[0].label == 449);
  CHECK(found[0].fields == Fields{{"image_channels.json", "[3]"},
                                  {"image_class_synset", "n03976657"},
                                  {"image_colorspace", "RGB"},
                                  {"image_object_bbox_xmin.json", "[0.1, 1, -2.5e-08]"},
                                  {"image_object_names.json", "[\"a \\\"b\\\"\", {\"hex\":\"ff\"}]"},
                                  {"image_object_number.json", "[0]"},
                                  {"jpg", k_jpeg}});
  const ShardIndex index = scan_shard(dir / "x", tfrecord());
  CHECK(index.height(0) == 0);
  CHECK(index.width(1) == 0);
  CHECK_FALSE(index.fields()[*index.field_id("image_channels.json")].located);
  CHECK(index.fields()[*index.field_id("jpg")].located);
}

TEST_CASE_METHOD(InTempDir, "examples of other writers, in every wire form") {
  const std::string png = from_hex("89504e470d0a1a0a") + "rest";
  const auto one = [&](const std::string& entries) {
    const std::vector<OwnedSample> found = scanned(dir, frame(example(entries)));
    REQUIRE(found.size() == 1);
    return found[0];
  };
  // TFDS: the image is known by its first bytes.
  CHECK(one(entry("image", bytes_list({png})) + entry("label", packed_integers({-7})) +
            entry("file_name", bytes_list({"x/y.z.png"}))) == OwnedSample{"x/y%2Ez", -7, {{"png", png}}});
  CHECK(one(entry("image/encoded", bytes_list({"?"})) + entry("image/format", bytes_list({""}))) ==
        OwnedSample{"00000000", k_no_label, {{"bin", "?"}}});
  // Value in front of the name; lists in two pieces; numbers that are not packed; unknown fields everywhere.
  const std::string unknown = varint(15 << 3) + varint(300);
  CHECK(
      one(field(1, unknown + field(2, field(3, unknown + varint(1 << 3) + varint(5)) + field(3, field(1, varint(6)))) +
                       field(1, "n")) +
          unknown)
          .fields == Fields{{"n.json", "[5, 6]"}});
  CHECK(one(entry("f", field(2, varint(1 << 3 | 5) + float_bits(0.5F)))).fields == Fields{{"f.json", "[0.5]"}});
  // Of two kinds in one feature the last counts.
  CHECK(one(entry("t", bytes_list({"x"}) + packed_integers({1}) + packed_integers({2}))).fields ==
        Fields{{"t.json", "[1, 2]"}});
  CHECK(one(entry("t", packed_integers({1}) + bytes_list({"x"}))).fields == Fields{{"t", "x"}});
  CHECK(one(entry("CLS", bytes_list({"12"})) + entry("", bytes_list({"x"}))) ==
        OwnedSample{"00000000", 12, {{"bin", "x"}, {"cls", "12"}}});
  // Features may come in several messages, and be none at all.
  const std::vector<OwnedSample> found =
      scanned(dir, frame(example(entry("a", bytes_list({"1"}))) + example(entry("b", bytes_list({"2"})))) + frame(""));
  REQUIRE(found.size() == 2);
  CHECK(found[0].fields == Fields{{"a", "1"}, {"b", "2"}});
  CHECK(found[1].fields.empty());
}

TEST_CASE_METHOD(InTempDir, "what is not an example is refused") {
  const std::string good = frame(example(entry("a", bytes_list({"1"}))));
  const std::string record = "record 1 is not a tf.train.Example";
  for (const std::string& data :
       {std::string("plain text"), field(1, "x"), example(field(1, field(1, "n") + field(2, "\x0A\x7F"))),
        example(entry("n", field(3, field(1, "\xFF")))), example(entry("n", field(2, field(1, "123")))),
        std::string("\x0A\xFF\xFF\xFF\xFF\x7F"), std::string(1, '\0'), varint(3 << 3 | 3)}) {
    CHECK_THAT(failure(dir, good + frame(data), ErrorCode::unsupported), ContainsSubstring(record));
  }
  std::string many;
  for (int i = 0; i < 65537; ++i) many += entry(fmt::format("n{}", i), bytes_list({"1"}));
  CHECK_THAT(failure(dir, good + frame(example(many)), ErrorCode::unsupported), ContainsSubstring(record));
  CHECK_THAT(failure(dir, from_hex("1f8b0800 00000000 0003 010203040506"), ErrorCode::unsupported),
             ContainsSubstring("compressed"));
}

TEST_CASE_METHOD(InTempDir, "every flipped bit is found without an index, and its record named") {
  std::vector<OwnedSample> samples;
  // Keys that a single bit cannot make equal.
  for (const char* key : {"sun", "sky", "tea"}) samples.push_back({key, 4, {{"cls", "4"}, {"jpg", k_jpeg + key}}});
  pack_plain(tfrecord(), dir / "good", samples);
  const std::string good = slurp(dir / "good");
  REQUIRE(scanned(dir, good) == samples);
  const std::size_t record_bytes = good.size() / 3;
  REQUIRE(record_bytes * 3 == good.size());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    INFO("bit " << bit);
    REQUIRE_THAT(failure(dir, bad), ContainsSubstring(fmt::format("record {}: ", bit / 8 / record_bytes)));
  }
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    if (cut % record_bytes == 0) continue;  // nothing in the file tells that there was more
    CHECK_THAT(failure(dir, good.substr(0, cut)),
               ContainsSubstring(fmt::format("record {}: the file ends", cut / record_bytes)));
  }
}

TEST_CASE_METHOD(InTempDir, "verify names the record whose checksum alone is damaged") {
  const std::vector<OwnedSample> samples{{"a", 1, {{"cls", "1"}, {"jpg", k_jpeg}}},
                                         {"b", 1, {{"cls", "1"}, {"jpg", k_jpeg}}}};
  ShardIndex index = pack_plain(tfrecord(), dir / "x", samples);
  std::string bytes = slurp(dir / "x");
  const std::size_t second = bytes.size() / 2;
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  spit(dir / "x", bytes);
  const Shard shard = Shard::open(dir / "x", tfrecord(), std::move(index));
  std::vector<Damage> found;
  shard.verify([&](const Damage& damage) { found.push_back(damage); });
  REQUIRE(found.size() == 1);
  CHECK(found[0].offset == second);
  CHECK_THAT(found[0].what, ContainsSubstring("record 1: checksum of its data"));
}

TEST_CASE_METHOD(InTempDir, "a length that only its checksum vouches for allocates nothing") {
  for (const std::uint64_t length : {std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{100}}) {
    const std::string header = little_endian(length, 8);
    CHECK_THAT(failure(dir, header + masked_crc(header) + "short"),
               ContainsSubstring("record 0: the file ends before"));
  }
}
