// RecordIO: frames and split numbers as MXNet has them, labels, tables, damage.
#include <fmt/format.h>

#include <random>

#include "bale/formats/registry/registry.hpp"
#include "bale/tests/unit/formats/format_support.hpp"

using namespace bale;
using namespace bale::test;
using Fields = std::vector<OwnedField>;

namespace {

const Format& recordio() { return *find_format("recordio").format; }

const std::string k_magic = from_hex("0a23d7ce");
const std::string k_jpeg = from_hex("ffd8ffe0");

/// Written by MXIndexedRecordIO of mxnet 1.9.1: a plain record, two labels, and an image with the magic number in it:
/// aligned, twice in a row, unaligned, and at its end.
const std::string k_by_mxnet = from_hex(
    "0a23d7ce28000000000000000000404000000000000000000000000000000000ffd8ffe020706c61696e20696d616765"
    "0a23d7ce2f0000000200000000000000010000000000000000000000000000000000c03f00000040ffd8ffe02074776f206c6162656c7300"
    "0a23d7ce1c000020000000000000e04002000000000000000000000000000000ffd8ffe0"
    "0a23d7ce0400004061626364 0a23d7ce00000040 0a23d7ce08000040780a23d7ce797a31 0a23d7ce00000060");
const std::string k_index_by_mxnet = "0\t0\n1\t48\n2\t104\n";
const std::string k_split_image = k_jpeg + k_magic + "abcd" + k_magic + k_magic + "x" + k_magic + "yz1" + k_magic;

const std::vector<OwnedSample> k_samples{
    {"a/plain", 3, {{"cls", "3"}, {"jpg", k_jpeg + " plain image"}}},
    {"a/two", k_no_label, {{"jpg", k_jpeg + " two labels"}, {"labels.json", "[1.5, 2]"}}},
    {"b/split", 7, {{"cls", "7"}, {"jpg", k_split_image}}},
};

/// A record of one part around an image record's payload.
std::string frame(const std::string& payload, std::uint32_t kind = 0) {
  std::string record = k_magic;
  const std::uint32_t word = kind << 29 | static_cast<std::uint32_t>(payload.size());
  record.append(reinterpret_cast<const char*>(&word), sizeof word).append(payload);
  return record.append((4 - record.size() % 4) % 4, '\0');
}

std::string image_header(std::uint32_t flag, float label, std::uint64_t id, const std::vector<float>& labels = {}) {
  std::string header(24 + 4 * labels.size(), '\0');
  std::memcpy(header.data(), &flag, 4);
  std::memcpy(header.data() + 4, &label, 4);
  std::memcpy(header.data() + 8, &id, 8);
  if (!labels.empty()) std::memcpy(header.data() + 24, labels.data(), 4 * labels.size());
  return header;
}

std::vector<OwnedSample> scanned(const TempDir& dir, const std::string& bytes) {
  spit(dir / "x.rec", bytes);
  return read_samples(recordio(), dir / "x.rec");
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "what MXNet wrote is read, split numbers put back") {
  std::vector<OwnedSample> expected = k_samples;
  expected[0].key = "00000000";
  expected[1].key = "00000001";
  expected[2].key = "00000002";
  CHECK(scanned(dir, k_by_mxnet) == expected);

  const Shard shard = Shard::open(dir / "x.rec", recordio(), scan_shard(dir / "x.rec", recordio()));
  const std::uint32_t jpg = *shard.index().field_id("jpg");
  CHECK_FALSE(shard.index().fields()[jpg].located);  // one image is in parts
  const Extent whole = shard.index().extent(0, jpg);
  CHECK(shard.payload().locate(0, jpg, whole) == FileRange{32, 16});
  // Three words of parts lie before the image's last byte, a fourth behind it.
  const Extent split = shard.index().extent(2, jpg);
  CHECK(shard.payload().locate(2, jpg, split) == FileRange{136, k_split_image.size() + 3 * 4});
}

TEST_CASE_METHOD(InTempDir, "we write what MXNet writes") {
  const ShardIndex index = pack_plain(recordio(), dir / "x.rec", k_samples);
  CHECK(slurp(dir / "x.rec") == k_by_mxnet);
  CHECK(sidecar_text(recordio(), ".idx", dir / "x.rec", index) == k_index_by_mxnet);
  CHECK(sidecar_text(recordio(), ".lst", dir / "x.rec", index) ==
        "0\t3.000000\ta/plain.jpg\n1\t1.500000\t2.000000\ta/two.jpg\n2\t7.000000\tb/split.jpg\n");
}

TEST_CASE_METHOD(InTempDir, "magic numbers anywhere come back, in every field") {
  std::mt19937 random(5);
  const std::string words[] = {k_magic, k_magic, std::string(4, '\0'), "abc", k_magic.substr(0, 2), k_magic.substr(2)};
  const auto bytes = [&](std::size_t most) {
    std::string text;
    for (std::size_t n = random() % (most + 1); n > 0; --n) text += words[random() % std::size(words)];
    return text;
  };
  std::vector<OwnedSample> samples;
  for (int i = 0; i < 400; ++i) {
    OwnedSample sample{fmt::format("s{}", i), i % 3 == 0 ? i : k_no_label, {}};
    if (i % 3 == 0) sample.fields.push_back({"cls", std::to_string(i)});
    sample.fields.push_back({"jpg", bytes(12)});
    if (i % 2 == 0) sample.fields.push_back({"json", bytes(5)});
    if (i % 5 == 0) sample.fields.push_back({"txt", bytes(1500)});
    samples.push_back(std::move(sample));
  }
  ShardIndex index = pack_plain(recordio(), dir / "x.rec", samples);
  CHECK(read_samples(Shard::open(dir / "x.rec", recordio(), std::move(index))) == samples);
  std::vector<OwnedSample> found = read_samples(recordio(), dir / "x.rec");
  for (std::size_t i = 0; i < found.size(); ++i) found[i].key = fmt::format("s{}", i);
  CHECK(found == samples);
}

TEST_CASE_METHOD(InTempDir, "labels go into the header where it says exactly them") {
  const std::string image = k_jpeg + " image ";
  const auto record_bytes = [&](std::int64_t label, const Fields& more) {
    OwnedSample sample{"k", label, more};
    sample.fields.push_back({"jpg", image});
    sample.sort_fields();
    ShardIndex index = pack_plain(recordio(), dir / "x.rec", {sample});
    CHECK(read_samples(Shard::open(dir / "x.rec", recordio(), std::move(index))) == std::vector{sample});
    std::vector<OwnedSample> found = read_samples(recordio(), dir / "x.rec");
    REQUIRE(found.size() == 1);
    found[0].key = "k";
    CHECK(found == std::vector{sample});
    return slurp(dir / "x.rec");
  };
  const auto plain = [&](std::uint32_t flag, float label, const std::vector<float>& labels = {}) {
    return frame(image_header(flag, label, 0, labels) + image);
  };
  CHECK(record_bytes(0, {{"cls", "0"}}) == plain(0, 0));
  CHECK(record_bytes(1 << 24, {{"cls", "16777216"}}) == plain(0, 16777216));
  CHECK(record_bytes(k_no_label, {}) == plain(0, -1));
  CHECK(record_bytes(k_no_label, {{"labels.json", "[0.5]"}}) == plain(1, 0, {0.5F}));
  CHECK(record_bytes(k_no_label, {{"labels.json", "[1, -0.25, 1e+30]"}}) == plain(3, 0, {1, -0.25F, 1e30F}));
  CHECK(record_bytes(k_no_label, {{"labels.json", "[Infinity, -Infinity]"}}) ==
        plain(2, 0, {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}));
  // Elsewhere the header has a number for plain readers, if it can, and the table has the field.
  for (const auto& [label, more] : {std::pair<std::int64_t, Fields>{(1 << 24) + 1, {{"cls", "16777217"}}},
                                    {-1, {{"cls", "-1"}}},
                                    {7, {{"cls", "007"}}},
                                    {7, {{"cls", "7\n"}}},
                                    {k_no_label, {{"cls", "cat"}}},
                                    {-5, {{"cls", "-5"}}},
                                    {k_no_label, {{"labels.json", "[1,2]"}}},
                                    {k_no_label, {{"labels.json", "[7]"}}},
                                    {k_no_label, {{"labels.json", "[]"}}},
                                    {k_no_label, {{"labels.json", "[xInfinity, 2]"}}},
                                    {7, {{"cls", "7"}, {"labels.json", "[1, 2]"}}}}) {
    INFO(more[0].bytes);
    const std::string bytes = record_bytes(label, more);
    CHECK(bytes.find("BALEREC1") != std::string::npos);
  }
}

TEST_CASE_METHOD(InTempDir, "labels of other writers") {
  const auto fields_of = [&](const std::string& header) {
    const std::vector<OwnedSample> found = scanned(dir, frame(header + k_jpeg));
    REQUIRE(found.size() == 1);
    return std::pair{found[0].label, found[0].fields};
  };
  const OwnedField image{"jpg", k_jpeg};
  CHECK(fields_of(image_header(0, 5, 1)) == std::pair<std::int64_t, Fields>{5, {{"cls", "5"}, image}});
  CHECK(fields_of(image_header(0, -1, 1)) == std::pair<std::int64_t, Fields>{k_no_label, {image}});
  CHECK(fields_of(image_header(0, 2.5, 1)) ==
        std::pair<std::int64_t, Fields>{k_no_label, {image, {"labels.json", "[2.5]"}}});
  CHECK(fields_of(image_header(1, 0, 1, {9})) == std::pair<std::int64_t, Fields>{9, {image, {"labels.json", "[9]"}}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(fields_of(image_header(2, 0, 1, {nan, 0.1F})) ==
        std::pair<std::int64_t, Fields>{k_no_label, {image, {"labels.json", "[NaN, 0.1]"}}});
}

TEST_CASE_METHOD(InTempDir, "keys come from the list beside the file") {
  const std::string bytes = frame(image_header(0, 1, 40) + k_jpeg) + frame(image_header(0, 2, 7) + k_jpeg);
  const auto keys = [&](const std::string& list) {
    spit(dir / "x.lst", list);
    std::vector<std::string> found;
    for (const OwnedSample& sample : scanned(dir, bytes)) found.push_back(sample.key);
    return found;
  };
  using Keys = std::vector<std::string>;
  CHECK(keys("7\t2.0\tdogs/b.JPEG\n40\t1.0\tcats/a.JPEG\n99\t1.0\tgone.jpg\n") == Keys{"cats/a", "dogs/b"});
  CHECK(keys("7\t2.0\t0.5\tdogs/b.1.JPEG\r\nnonsense\n40\t1.0\tcats/a%2Eb.jpg") == Keys{"cats/a%2Eb", "dogs/b%2E1"});
  CHECK(keys("7\t2.0\tsame.jpg\n40\t1.0\tsame.png\n") == Keys{"same", "same-00000001"});
  // A list that does not know every record is of another file.
  CHECK(keys("7\t2.0\tdogs/b.JPEG\n") == Keys{"00000040", "00000007"});
  CHECK(keys("7\t2.0\tb.jpg\n7\t2.0\tc.jpg\n40\t1.0\ta.jpg\n") == Keys{"00000040", "00000007"});
  CHECK(keys("7\tb.jpg\n40\ta.jpg\n") == Keys{"00000040", "00000007"});
}

TEST_CASE_METHOD(InTempDir, "samples that an image record cannot hold are refused, and the shard goes on") {
  const auto writer = recordio().create({.path = dir / "x.rec", .layout = "image"});
  const std::vector<FieldView> text{{"txt", as_bytes("no image")}};
  CHECK_THROWS_WITH(writer->add({.key = "a", .fields = text}), ContainsSubstring("needs an image"));
  // Of 512 MiB, none of which is looked at but the first.
  const std::string start(4096, 'x');
  const std::vector<FieldView> large{{"jpg", Bytes(as_bytes(start).data(), std::size_t{1} << 29)}};
  CHECK_THROWS_WITH(writer->add({.key = "a", .fields = large}), ContainsSubstring("512 MiB"));
  const std::string long_name(256, 'n');  // its length is written in a byte
  const std::vector<FieldView> named{{"jpg", as_bytes(k_jpeg)}, {long_name, as_bytes("x")}};
  CHECK_THROWS_WITH(writer->add({.key = "a", .fields = named}), ContainsSubstring("more than 255"));
  const std::vector<FieldView> image{{"jpg", as_bytes(k_jpeg)}};
  writer->add({.key = "b", .label = 2, .fields = image});
  IndexBuilder index;
  index.add_field("jpg");
  index.add_sample("b");
  writer->finish(index);
  CHECK(slurp(dir / "x.rec") == frame(image_header(0, 2, 0) + k_jpeg));
}

TEST_CASE_METHOD(InTempDir, "damaged frames are refused with record and offset") {
  const std::string good = frame(image_header(0, 1, 0) + k_jpeg);
  const auto message = [&](const std::string& bytes) {
    return message_of(ErrorCode::damaged, [&] { scanned(dir, bytes); });
  };
  CHECK_THAT(message(good + "x"),
             ContainsSubstring("record 1: the file ends inside a header") && ContainsSubstring("offset 36"));
  CHECK_THAT(message(good + std::string(8, 'x')),
             ContainsSubstring("record 1: no magic number") && ContainsSubstring("offset 36"));
  CHECK_THAT(message(good + good.substr(0, good.size() - 1)), ContainsSubstring("record 1: the file ends before"));
  CHECK_THAT(message(good + frame("0123", 2)), ContainsSubstring("record 1: a part out of place"));
  CHECK_THAT(message(good + frame("0123", 5)), ContainsSubstring("record 1: a part out of place"));
  CHECK_THAT(message(good + frame("0123", 1) + frame("0123", 1)), ContainsSubstring("record 1: a part out of place"));
  CHECK_THAT(message(good + frame("0123", 1)), ContainsSubstring("record 1: the file ends inside a header"));
  CHECK_THAT(message(good + frame("01234", 1) + frame("0", 3)),
             ContainsSubstring("record 1: a part that does not end"));
  CHECK_THAT(message(good + frame("short")), ContainsSubstring("record 1: 5 bytes are not an image record"));
  CHECK_THAT(message(good + frame(image_header(2, 0, 0) + "1234")),
             ContainsSubstring("record 1: its header says 2 labels"));
}

TEST_CASE_METHOD(InTempDir, "tables that contradict their record are refused") {
  pack_plain(recordio(), dir / "x.rec", {{"k", 1, {{"jpg", "no jpeg"}, {"txt", "text"}}}});
  const std::string good = slurp(dir / "x.rec");
  const std::size_t table = good.find("jpg") - 1;
  for (std::size_t at = table; at < good.find("BALEREC1"); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    INFO("byte " << at);
    spit(dir / "y.rec", bad);
    CHECK_THROWS_WITH(scan_shard(dir / "y.rec", recordio()), ContainsSubstring("record 0: its table"));
  }
}

TEST_CASE_METHOD(InTempDir, "truncation and flipped bits never lead out of the file") {
  std::vector<OwnedSample> samples = k_samples;
  for (int i = 0; i < 3; ++i) samples.push_back({fmt::format("t{}", i), i, {{"cls", "x"}, {"jpg", k_split_image}}});
  pack_plain(recordio(), dir / "good.rec", samples);
  const std::string good = slurp(dir / "good.rec");
  const auto size_of = [&](const std::string& bytes) {
    std::size_t size = 0;
    thrown_by([&] { size = scanned(dir, bytes).size(); });
    return size;
  };
  for (std::size_t cut = 0; cut < good.size(); ++cut) CHECK(size_of(good.substr(0, cut)) < samples.size());
  for (std::size_t at = 0; at < good.size() * 8; ++at) {
    std::string bad = good;
    bad[at / 8] = static_cast<char>(bad[at / 8] ^ (1 << at % 8));
    size_of(bad);
  }
}
