// The small pieces of the vocabulary: keys, labels, checksums, printable text, JSON for raw bytes, random numbers.
#include <array>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

Manifest small_manifest() {
  return {.name = "n",
          .format = "f",
          .layout = "l",
          .num_samples = 3,
          .num_skipped = 1,
          .fields = {{"jpg", "none", 5}},
          .classes = {"a", "\xff"},
          .shards = {{"n-000000.x", "xxh3:00", 3, 77}},
          .lists = {"l.json"},
          .edits = {{"resize_short", "256"}},
          .plan = "p",
          .created_by = "c"};
}

}  // namespace

TEST_CASE("member names split as WebDataset splits them") {
  const auto split = [](std::string_view name) {
    const auto parts = split_member_name(name);
    return parts ? std::string(parts->key) + "|" + std::string(parts->extension) : "skipped";
  };
  CHECK(split("a.jpg") == "a|jpg");
  CHECK(split("d.1/e/a.seg.png") == "d.1/e/a|seg.png");
  CHECK(split("./a.jpg") == "./a|jpg");
  CHECK(split("a.") == "a|");
  CHECK(split("noext") == "skipped");
  CHECK(split("d/.hidden") == "skipped");
  CHECK(split("d.x/noext") == "skipped");
  CHECK(is_reserved_member("__meta__/x.json"));
  CHECK(is_reserved_member("__meta__"));
  CHECK_FALSE(is_reserved_member("__meta__.jpg"));
  CHECK(field_name("JPEG") == "jpg");
  CHECK(field_name("Seg.PNG") == "seg.png");
}

TEST_CASE("an encoded key splits back whole and never collides") {
  for (const char* stem :
       {"a", "a.b", "d.1/a.b.c", ".hidden", "a%2Eb", "__meta__", "d/__meta__", "__meta__/x", "%5F_meta__",
        "%5F_meta__/x", "%255F_meta__/x", "__a.b__", "%", "50%", "%2", "%%25", "d%2E/x", "%5Fx/y"}) {
    const std::string member = encode_key(stem) + ".jpg";
    const auto parts = split_member_name(member);
    REQUIRE(parts);
    CHECK(parts->extension == "jpg");
    CHECK_FALSE(is_reserved_member(parts->key));
    CHECK(decode_key(encode_key(stem)) == stem);
    CHECK(decode_key(encode_key(encode_key(stem))) == encode_key(stem));
  }
  CHECK(encode_key("a.b") != encode_key("a%2Eb"));
  CHECK(encode_key("d.1/x") == "d.1/x");
  // What encode_key() does not make stays as it is.
  for (const char* key : {"a.b", "50%", "a%2eb", "%41", "d/a.b%2E", "__meta__", "x%"}) CHECK(decode_key(key) == key);
  CHECK(decode_key("d.1/a%2Eb%252E") == "d.1/a.b%2E");
}

TEST_CASE("labels are whole ASCII numbers and nothing else") {
  CHECK(parse_label(as_bytes("7")) == 7);
  CHECK(parse_label(as_bytes(" -12\n")) == -12);
  CHECK(parse_label(as_bytes("\xEF\xBB\xBF 9007199254740993.00 ")) == 9007199254740993);
  CHECK(parse_label(as_bytes("-7.000e+00")) == -7);
  for (const char* text : {"", " ", "7a", "0x7", "7.5", "7.0x", "1e16", "nan", "-inf", "9223372036854775808"}) {
    CHECK(parse_label(as_bytes(text)) == k_no_label);
  }
}

TEST_CASE("a scratch gives lent memory for what fits, and its own for the rest") {
  std::array<std::byte, 8> lent{};
  Scratch scratch{MutableBytes(lent)};
  CHECK(scratch.bytes(8).data() == lent.data());
  CHECK(scratch.bytes(3).size() == 3);
  const MutableBytes more = scratch.bytes(9);
  CHECK(more.size() == 9);
  CHECK(more.data() != lent.data());
  more.back() = std::byte{1};
  CHECK(scratch.bytes(1).data() == lent.data());
}

TEST_CASE("checksums match their published check values") {
  CHECK(crc32c(as_bytes("123456789")) == 0xE3069283U);  // RFC 3720's polynomial, Koopman's check value
  CHECK(crc32c(as_bytes("6789"), crc32c(as_bytes("12345"))) == 0xE3069283U);
  CHECK(crc32c({}) == 0);
  DigestStream stream;
  CHECK(digest_text(stream.digest()) == "xxh3:99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
}

TEST_CASE("names are shown without what may be secret, each name of a list, too") {
  CHECK(shown_name("packed::a b/c::d") == "packed::a b/c::d");
  CHECK(shown_name("https://user:pw@host/a.tar?X-Amz-Signature=1") == "https://***@host/a.tar?***");
  CHECK(shown_name("local::http://u:p@h/a?s=1::http://u:q@h/b") == "local::http://***@h/a?***::http://***@h/b");
  CHECK(shown_name("http://u:p@[::1]:80/a?s=1") == "http://***@[::1]:80/a?***");
  CHECK(shown_name("http://h/get?file=a.tar&sig=1") == "http://h/get?file=a.tar&***");
  CHECK(shown_name("/cwd/http:/u:p@h/a") == "/cwd/http:/***@h/a");
  CHECK(shown_name("http://u:p/w@h/a") == "http://***@h/a");
  CHECK(shown_name("http://h.org:80/a@1/b") == "http://h.org:80/a@1/b");
  CHECK(printable("cannot read http://u:p@h/a?s=1: no such file") == "cannot read http://***@h/a?***: no such file");
  CHECK(shown_name("file:///a?b::C:/d?e") == "file:///a?b::C:/d?e");
  CHECK(shown_name(std::string(5000, 'n')).size() < 600);
}

TEST_CASE("errors are one printable line with place and remedy") {
  const Error error(ErrorCode::damaged, "checksum does not match",
                    {.path = "a\nb\xff/\x1b[31m\xc2\x9b é.tar", .key = "k", .offset = 512, .hint = "run verify"});
  CHECK(std::string(error.what()) ==
        "a\\x0ab\\xff/\\x1b[31m\\xc2\\x9b é.tar: checksum does not match (key \"k\", offset 512); run verify");
}

TEST_CASE("raw bytes survive JSON") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& raw : {std::string("plain é"), all, std::string("\xff"), std::string()}) {
    CHECK(parse_json(bytes_to_json(raw).dump()).as_bytes("name") == raw);
  }
  for (const Json& other : {Json{{"hex", "zz"}}, Json{{"hex", "abc"}}, Json{{"hex", 1}}, Json(3)}) {
    CHECK_THROWS_AS(other.as_bytes("name"), Error);
  }
}

TEST_CASE("keyed random numbers have golden values") {
  // Computed by an independent implementation in Python's integers.
  KeyedRandom random{1, 2, 3};
  CHECK(random.next() == 8137338547440760092U);
  CHECK(random.next() == 7288117142663666633U);
  std::vector<int> items{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  KeyedRandom{5}.shuffle(items);
  CHECK(items == std::vector<int>{2, 1, 0, 7, 5, 3, 9, 4, 8, 6});
  KeyedRandom dice{9};
  std::vector<int> counts(6);
  for (int i = 0; i < 60000; ++i) ++counts[dice.below(6)];
  for (const int count : counts) CHECK(std::abs(count - 10000) < 500);  // over five standard deviations
}

TEST_CASE("a manifest survives writing and reading, what is not a manifest is refused") {
  const std::string text = manifest_text(small_manifest());
  CHECK(manifest_text(parse_manifest(text, "m")) == text);
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_THROWS_AS(parse_manifest(text.substr(0, size), "m"), Error);
  Manifest planes = small_manifest();
  planes.fields.front().codec = "planes";
  CHECK_THAT(manifest_text(planes), ContainsSubstring("\"bale_manifest\": 2"));
  const std::string unsealed = text.substr(0, text.rfind(",\n \"checksum\"")) + "\n}\n";
  CHECK(manifest_text(parse_manifest(unsealed, "m")) == text);
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = unsealed;
    other.replace(other.find(from), from.size(), to);
    return other;
  };
  CHECK_THROWS_WITH(parse_manifest(changed("n-000000.x", "../../etc/x"), "m"), ContainsSubstring("plain file name"));
  CHECK_THROWS_WITH(parse_manifest(changed("l.json", "../l.json"), "m"), ContainsSubstring("plain file name"));
  CHECK_THROWS_AS(parse_manifest(changed("\"256\"", "256"), "m"), Error);
  CHECK_THROWS_WITH(parse_manifest(changed("\"bale_manifest\": 1", "\"bale_manifest\": 3"), "m"),
                    ContainsSubstring("newer bale"));
  CHECK_THROWS_WITH(parse_manifest(changed("\"num_samples\": 3", "\"num_samples\": 4"), "m"),
                    ContainsSubstring("add up"));
  CHECK_THROWS_AS(parse_manifest(changed("\"num_samples\": 3", "\"num_samples\": \"3\""), "m"), Error);
  for (const char* const number : {"-3", "3.0", "3e99", "18446744073709551616", "null"}) {
    const std::string member = std::string("\"num_skipped\": ") + number;
    CHECK_THROWS_WITH(parse_manifest(changed("\"num_skipped\": 1", member), "m"),
                      ContainsSubstring("m: not a valid manifest"));
  }
  CHECK_THROWS_WITH(parse_manifest(changed("\"plan\"", "\"new\": 1, \"plan\""), "m"),
                    ContainsSubstring("checksum is missing"));
}

TEST_CASE("every flipped bit of a manifest is found") {
  const std::string text = manifest_text(small_manifest());
  REQUIRE_NOTHROW(parse_manifest(text, "m"));
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    INFO("bit " << bit << ": " << changed);
    CHECK(test::throws(ErrorCode::damaged, [&] { parse_manifest(changed, "m"); }));
  }
}

TEST_CASE("compressed fields come back, damaged frames are refused") {
  const std::string text(10000, 'x');
  std::vector<std::byte> frame;
  zstd_compress(as_bytes(text), 3, frame);
  REQUIRE(zstd_content_size(frame, 1 << 20) == text.size());
  std::vector<std::byte> plain(text.size());
  zstd_decompress(frame, plain);
  CHECK(as_text(plain) == text);
  CHECK_THROWS_AS(zstd_content_size(frame, 9999), Error);
  CHECK_THROWS_AS(zstd_decompress(Bytes(frame).first(frame.size() - 1), plain), Error);
}

TEST_CASE("a compressed part beyond the usual ratio is taken from the allowance of the whole") {
  InflationBudget budget(1000000);
  CHECK(budget.take(1000, 1000 * k_max_inflation));
  CHECK(budget.take(10, 600000));
  CHECK_FALSE(budget.take(10, 600000));
  CHECK(budget.take(10, 400000));
  CHECK_FALSE(budget.take(10, 20000));
  CHECK(budget.take(10000, 10000000));
}

TEST_CASE("an excerpt keeps head and tail, whole characters and the length") {
  CHECK(excerpt("short", 5) == "short");
  const std::string text = std::string(500, 'a') + "\u00e9\u00e9" + std::string(500, 'b');
  for (std::size_t most = 12; most < 1004; ++most) {
    const std::string shown = excerpt(text, most);
    CHECK(shown.size() <= most + 40);
    CHECK(shown.starts_with("aaaa"));
    CHECK(shown.ends_with("bbbb"));
    CHECK(shown.find("[... 1004 bytes in all ...]") != std::string::npos);
    CHECK(printable(shown) == shown);
  }
}

TEST_CASE_METHOD(test::InTempDir, "publishing a file replaces it whole and leaves no temporary behind") {
  publish_file(dir / "f", as_bytes("one"));
  publish_file(dir / "f", as_bytes("two"));
  CHECK(as_text(read_file(dir / "f")) == "two");
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
  CHECK_THROWS_WITH(read_file(dir / "f", 2), ContainsSubstring("3 bytes"));
  CHECK_THROWS_WITH(File::open_read(dir / "absent"), ContainsSubstring("no such file"));
  CHECK_THROWS_WITH(File::open_read(dir.path()), ContainsSubstring("not a regular file"));
}
