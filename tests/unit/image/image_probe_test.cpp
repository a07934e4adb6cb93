#include <random>
#include <string>

#include "bale/formats/image/image.hpp"
#include "bale/tests/support/catch.hpp"

using namespace std::string_literals;

namespace {

bale::ImageHeader probe(const std::string& bytes) { return bale::probe_image(bale::as_bytes(bytes)); }

void check(const std::string& bytes, bale::ImageKind kind, std::uint32_t width, std::uint32_t height,
           std::uint32_t channels) {
  const bale::ImageHeader header = probe(bytes);
  CHECK(header.kind == kind);
  CHECK(header.width == width);
  CHECK(header.height == height);
  CHECK(header.channels == channels);
}

// Height 0x0102 = 258, width 0x0304 = 772, 3 components.
std::string frame_header(char marker) { return "\xFF"s + marker + "\x00\x11\x08\x01\x02\x03\x04\x03"s; }

const std::string k_soi = "\xFF\xD8";
const std::string k_app0 = "\xFF\xE0\x00\x06\xFF\xC0\xFF\xFF"s;  // a payload that looks like markers
const std::string k_png = "\x89PNG\r\n\x1A\n\x00\x00\x00\x0DIHDR\x00\x00\x01\x00\x00\x00\x00\x20\x08"s;
const std::string k_bmp = "BM"s + std::string(12, '\0');

using bale::ImageKind;

}  // namespace

TEST_CASE("JPEG: every frame header states the size") {
  for (int marker = 0xC0; marker <= 0xCF; ++marker) {
    if (marker == 0xC4 || marker == 0xC8 || marker == 0xCC) continue;
    check(k_soi + k_app0 + frame_header(static_cast<char>(marker)), ImageKind::jpeg, 772, 258, 3);
  }
}

TEST_CASE("JPEG: tables are not frame headers, fill bytes and stray bytes are ignored") {
  for (const char marker : {'\xC4', '\xC8', '\xCC'}) {
    const std::string tables = "\xFF"s + marker + "\x00\x0A\x08\x00\x01\x00\x01\x03\x00\x00"s;
    check(k_soi + tables + frame_header('\xC2'), ImageKind::jpeg, 772, 258, 3);
  }
  check(k_soi + "\xFF\xFF\xFF"s + frame_header('\xC0'), ImageKind::jpeg, 772, 258, 3);
  check(k_soi + "stray\xFF\x00"s + k_app0 + frame_header('\xC0'), ImageKind::jpeg, 772, 258, 3);
  check(k_soi + "\xFF\xD0\xFF\x01"s + frame_header('\xC0'), ImageKind::jpeg, 772, 258, 3);
}

TEST_CASE("JPEG: no size where the first scan, the end or damage comes before a frame header") {
  check(k_soi, ImageKind::jpeg, 0, 0, 0);
  check(k_soi + "\xFF\xDA\x00\x02"s + frame_header('\xC0'), ImageKind::jpeg, 0, 0, 0);
  check(k_soi + "\xFF\xD9"s + frame_header('\xC0'), ImageKind::jpeg, 0, 0, 0);
  check(k_soi + "\xFF\xE0\x00\x01"s + frame_header('\xC0'), ImageKind::jpeg, 0, 0, 0);
  check(k_soi + "\xFF\xE0\xFF\xFF"s + frame_header('\xC0'), ImageKind::jpeg, 0, 0, 0);
  check(k_soi + frame_header('\xC0').substr(0, 9), ImageKind::jpeg, 0, 0, 0);
}

TEST_CASE("PNG: size and channels from IHDR") {
  check(k_png + "\x00\x00\x00\x00"s, ImageKind::png, 256, 32, 1);
  check(k_png + "\x02\x00\x00\x00"s, ImageKind::png, 256, 32, 3);
  check(k_png + "\x03\x00\x00\x00"s, ImageKind::png, 256, 32, 3);
  check(k_png + "\x04\x00\x00\x00"s, ImageKind::png, 256, 32, 2);
  check(k_png + "\x06\x00\x00\x00"s, ImageKind::png, 256, 32, 4);
  check(k_png.substr(0, 8), ImageKind::png, 0, 0, 0);
}

TEST_CASE("BMP: both headers, rows from either end") {
  check(k_bmp + "\x28\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x01\x00\x18\x00"s, ImageKind::bmp, 5, 7, 3);
  check(k_bmp + "\x28\x00\x00\x00\x05\x00\x00\x00\xF9\xFF\xFF\xFF\x01\x00\x20\x00"s, ImageKind::bmp, 5, 7, 4);
  check(k_bmp + "\x28\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80\x01\x00\x20\x00"s, ImageKind::bmp, 5, 0x80000000u, 4);
  check(k_bmp + "\x0C\x00\x00\x00\x05\x00\x07\x00\x01\x00\x08\x00"s, ImageKind::bmp, 5, 7, 3);
  check("BMW is not a bitmap, it is a car", ImageKind::unknown, 0, 0, 0);
}

TEST_CASE("GIF and WebP") {
  check("GIF89a\x05\x00\x07\x01"s, ImageKind::gif, 5, 263, 3);
  const std::string riff = "RIFF\x00\x00\x00\x00WEBP"s;
  check(riff + "VP8 \x00\x00\x00\x00\x10\x00\x00\x9D\x01\x2A\x05\x40\x07\x80"s, ImageKind::webp, 5, 7, 3);
  check(riff + "VP8L\x00\x00\x00\x00\x2F\x04\x80\x01\x10"s, ImageKind::webp, 5, 7, 4);
  check(riff + "VP8X\x00\x00\x00\x00\x10\x00\x00\x00\x04\x00\x00\x06\x00\x00"s, ImageKind::webp, 5, 7, 4);
  check("RIFF\x00\x00\x00\x00WAVEfmt "s, ImageKind::unknown, 0, 0, 0);
}

TEST_CASE("TIFF: the first directory, in both byte orders, wherever it points") {
  check("II*\0\x08\0\0\0\x02\0\0\x01\x03\0\x01\0\0\0\x05\0\0\0\x01\x01\x04\0\x01\0\0\0\x07\0\0\0"s, ImageKind::tiff, 5,
        7, 0);
  check("MM\0*\0\0\0\x08\0\x02\x01\0\0\x03\0\0\0\x01\0\x05\0\0\x01\x01\0\x04\0\0\0\x01\0\0\0\x07"s, ImageKind::tiff, 5,
        7, 0);
  check("II*\0\xFF\xFF\xFF\xFF"s, ImageKind::tiff, 0, 0, 0);
  check("II*\0\x08\0\0\0\xFF\xFF\0\x01"s, ImageKind::tiff, 0, 0, 0);
}

TEST_CASE("PNM: numbers among white space and comments") {
  check("P6\n5 7\n255\n", ImageKind::pnm, 5, 7, 3);
  check("P2 # gray\n# and text\n 5\t\n7 15\n", ImageKind::pnm, 5, 7, 1);
  check("P5 99999999999999999999 1", ImageKind::pnm, 0, 0, 1);
  check("P7\n", ImageKind::unknown, 0, 0, 0);
  check("P6x", ImageKind::unknown, 0, 0, 0);
}

TEST_CASE("Anything else is unknown, and no bytes are read past the end") {
  check("", ImageKind::unknown, 0, 0, 0);
  check("\xFF", ImageKind::unknown, 0, 0, 0);
  check("some text", ImageKind::unknown, 0, 0, 0);

  // Each prefix and each flip lives in a buffer of exactly its size, where a sanitizer sees a step outside.
  std::mt19937 random(1);
  const std::string openings[] = {k_soi + k_app0 + frame_header('\xC0'),
                                  k_png + "\x02\x00\x00\x00"s,
                                  k_bmp + "\x28\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x01\x00\x18\x00"s,
                                  "RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2F\x04\x80\x01\x10"s,
                                  "MM\0*\0\0\0\x08\0\x01\x01\0\0\x03\0\0\0\x01\0\x05\0\0"s,
                                  "P6\n# c\n5 7\n255\n"s};
  for (const std::string& opening : openings) {
    const bale::ImageKind kind = probe(opening).kind;
    for (std::size_t length = 0; length <= opening.size(); ++length) {
      const std::vector<std::byte> exact(bale::as_bytes(opening).begin(),
                                         bale::as_bytes(opening).begin() + static_cast<std::ptrdiff_t>(length));
      const bale::ImageHeader header = bale::probe_image(exact);
      CHECK((header.kind == kind || header.kind == bale::ImageKind::unknown));
    }
    for (int round = 0; round < 500; ++round) {
      std::string flipped = opening;
      flipped[random() % flipped.size()] ^= static_cast<char>(1u << random() % 8);
      const bale::ImageHeader header = probe(flipped);
      CHECK((header.kind != bale::ImageKind::unknown || header.width == 0));
    }
  }
}

TEST_CASE("Kinds have names") {
  CHECK(bale::image_kind_name(ImageKind::jpeg) == "jpeg");
  CHECK(bale::image_kind_name(ImageKind::unknown) == "unknown");
}
