// Decoded images as one NumPy array: what NumPy writes, what we refuse, what comes out.
#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_decoder.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/formats/format_support.hpp"

using namespace bale;
using namespace bale::test;

namespace bale {
extern const Format k_npy_format;
}

namespace {

/// A header as numpy.lib.format writes it, of any version.
std::string header_of(int version, const std::string& dict) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  std::string text = dict;
  text.resize((prefix + dict.size() + 1 + 63) / 64 * 64 - prefix - 1, ' ');
  text += '\n';
  std::string header = std::string(k_array_magic) + static_cast<char>(version) + '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) header += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  return header + text;
}

std::string dict_of(const std::string& type, bool fortran, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

std::string pixels_of(std::size_t bytes) {
  std::string pixels(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) pixels[i] = static_cast<char>(i * 7 % 251);
  return pixels;
}

ShardIndex scan(const std::string& path) { return scan_shard(path, k_npy_format); }

}  // namespace

TEST_CASE_METHOD(InTempDir, "what NumPy saves is scanned and read, in all versions of its header") {
  const std::string pixels = pixels_of(3 * 4 * 5 * 3);
  for (const int version : {1, 2, 3}) {
    INFO("version " << version);
    spit(dir / "a.npy", header_of(version, dict_of("|u1", false, "(3, 4, 5, 3)")) + pixels);
    spit(dir / "a.labels.npy", header_of(1, dict_of("<i4", false, "(3,)")) + from_hex("07000000 ffffffff 02000000"));
    const Shard shard = Shard::open(dir / "a.npy", k_npy_format, scan(dir / "a.npy"));
    REQUIRE(shard.size() == 3);
    Scratch scratch;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const SampleView sample = shard.read(i, scratch);
      CHECK(sample.key == "0000000" + std::to_string(i));
      CHECK(sample.label == std::vector<std::int64_t>{7, -1, 2}[i]);
      CHECK(sample.width == 5);
      CHECK(sample.height == 4);
      const Image image = decode_image(sample.find_image()->bytes);
      CHECK(std::string(image.rgb.begin(), image.rgb.end()) == pixels.substr(i * 60, 60));
    }
  }
}

TEST_CASE_METHOD(InTempDir, "arrays of other types, orders and shapes are refused, as are headers that lie") {
  const auto refused = [&](const std::string& header, std::size_t bytes, ErrorCode code, const std::string& why) {
    INFO(header);
    spit(dir / "a.npy", header + pixels_of(bytes));
    CHECK_THAT(message_of(code, [&] { scan(dir / "a.npy"); }), ContainsSubstring(why));
  };
  const auto array = [](const std::string& shape) { return header_of(1, dict_of("|u1", false, shape)); };
  refused(header_of(1, dict_of("<f4", false, "(2, 2, 2, 3)")), 96, ErrorCode::unsupported, "type <f4");
  refused(header_of(1, dict_of("|u1", true, "(2, 2, 2, 3)")), 24, ErrorCode::unsupported, "Fortran order");
  refused(array("(2, 3, 2, 2)"), 24, ErrorCode::unsupported, "shape (2, 3, 2, 2)");
  refused(array("(24,)"), 24, ErrorCode::unsupported, "shape (24)");
  refused(array("()"), 1, ErrorCode::unsupported, "shape ()");
  refused(array("(9, 0, 4, 3)"), 0, ErrorCode::unsupported, "without pixels");
  refused(array("(2, 2, 2, 3)"), 23, ErrorCode::damaged, "23 bytes of data");
  refused(array("(2, 2, 2, 3)"), 25, ErrorCode::damaged, "25 bytes of data");
  refused(array("(18446744073709551615, 2, 2, 3)"), 24, ErrorCode::damaged, "bytes of data");
  refused(array("(1, 65536, 65536, 3)"), 24, ErrorCode::unsupported, "1 GiB");
  refused(array("(99999999999999999999, 2, 2, 3)"), 24, ErrorCode::damaged, "header cannot be read");
  refused(array("(-1, 2, 2, 3)"), 24, ErrorCode::damaged, "header cannot be read");
  refused(header_of(1, "{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (2,), }"), 2, ErrorCode::unsupported,
          "records");
  refused(header_of(1, "{'descr': '|u1', 'shape': (1, 1, 1, 3), }"), 3, ErrorCode::damaged, "header cannot be read");
  refused(header_of(4, dict_of("|u1", false, "(1, 1, 1, 3)")), 3, ErrorCode::unsupported, "version 4");
  refused(std::string(k_array_magic) + std::string("\x01\x00\xFF\xFF", 4), 40, ErrorCode::damaged, "cannot be read");
  refused(std::string(k_array_magic) + std::string("\x02\x00\xFF\xFF\xFF\xFF", 6), 40, ErrorCode::damaged,
          "cannot be read");
}

TEST_CASE("headers with any byte changed are read or refused") {
  const std::string good = array_header_text("|u1", std::vector<std::uint64_t>{2, 4, 5, 3});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x10, 0x80, 0xFF}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      const auto header = parse_array_header(as_bytes(bad));
      if (header) CHECK(header->data_offset <= bad.size());
    }
    CHECK_FALSE(parse_array_header(as_bytes(good.substr(0, at))));
  }
}

TEST_CASE_METHOD(InTempDir, "labels that do not fit the images are refused") {
  spit(dir / "a.npy", header_of(1, dict_of("|u1", false, "(2, 1, 1, 3)")) + pixels_of(6));
  spit(dir / "a.labels.npy", header_of(1, dict_of("<i8", false, "(3,)")) + pixels_of(24));
  CHECK_THROWS_WITH(scan(dir / "a.npy"), ContainsSubstring("labels of shape (3) for 2 images"));
  spit(dir / "a.labels.npy", header_of(1, dict_of("<f8", false, "(2,)")) + pixels_of(16));
  CHECK_THROWS_WITH(scan(dir / "a.npy"), ContainsSubstring("labels of type <f8"));
  spit(dir / "a.labels.npy", "nothing of the kind");
  CHECK_THROWS_AS(scan(dir / "a.npy"), Error);
}

TEST_CASE_METHOD(
    InTempDir,
    "an image with two fields, a mask or a class that is not a number is a bad sample, and the shard goes on") {
  Image image{.width = 2, .height = 2, .rgb = std::vector<std::uint8_t>(12, 9)};
  const std::vector<std::byte> encoded = encode_png(image);
  const std::string png(as_text(encoded));
  image.width = 4;
  image.height = 1;
  const std::vector<std::byte> other = encode_png(image);
  const auto writer = k_npy_format.create({.path = dir / "a.npy", .layout = "rgb"});
  const auto add = [&](std::vector<FieldView> fields, std::int64_t label) {
    writer->add({.key = "k", .label = label, .fields = fields});
  };
  add({{"png", as_bytes(png)}, {"cls", as_bytes("4")}}, 4);
  CHECK_THROWS_WITH(add({{"png", as_bytes(png)}, {"json", as_bytes("{}")}}, 4), ContainsSubstring("json"));
  CHECK_THROWS_WITH(add({{"png", as_bytes(png)}, {"jpg", as_bytes(png)}}, 4), ContainsSubstring("jpg"));
  CHECK_THROWS_WITH(add({{"png", as_bytes(png)}, {"cls", as_bytes("x")}}, k_no_label), ContainsSubstring("number"));
  CHECK_THROWS_WITH(add({{"png", other}}, 1), ContainsSubstring("`size`"));
  CHECK_THROWS_WITH(add({{"txt", as_bytes("x")}}, 1), ContainsSubstring("txt"));
  add({{"png", as_bytes(png)}}, k_no_label);
  IndexBuilder index;
  index.add_sample("a", 4);
  index.add_sample("b");
  writer->finish(index);
  CHECK(slurp(dir / "a.npy").size() == 128 + 2 * 12);
  CHECK(scan(dir / "a.npy").size() == 2);
}

TEST_CASE("a region of decoded pixels is where it lies") {
  const std::string pixels = pixels_of(6 * 7 * 3);
  const std::string bytes = array_header_text("|u1", std::vector<std::uint64_t>{6, 7, 3}) + pixels;
  ImageDecoder decoder;
  const ImageHeader header = decoder.open(as_bytes(bytes));
  CHECK(header.kind == ImageKind::array);
  CHECK(header.width == 7);
  CHECK(header.height == 6);
  const PixelView view = decoder.read({.x = 2, .y = 1, .width = 4, .height = 3});
  CHECK(view.stride == 21);
  CHECK(reinterpret_cast<const char*>(view.rgb) == bytes.data() + 128 + 21 + 6);
  CHECK_THROWS_WITH(decoder.open(as_bytes(bytes.substr(0, bytes.size() - 1))), ContainsSubstring("125 bytes"));
  const std::string flat = array_header_text("<f4", std::vector<std::uint64_t>{6, 7, 3}) + pixels;
  CHECK_THROWS_WITH(decoder.open(as_bytes(flat)), ContainsSubstring("type <f4"));
  CHECK_THROWS_WITH(decoder.open(as_bytes(bytes), 41), ContainsSubstring("limit"));
}
