// Metadata of JPEGs and PNGs: read, dropped, taken over; and whatever the bytes are, nothing worse than an error.
#include "bale/formats/image/metadata/metadata.hpp"

#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

std::string text_of(const std::vector<std::byte>& bytes) { return std::string(as_text(bytes)); }

Image gradient_image(std::uint32_t width, std::uint32_t height) {
  Image image{.width = width, .height = height};
  for (std::uint32_t i = 0; i < width * height * 3; ++i) image.rgb.push_back(static_cast<std::uint8_t>(i * 5));
  return image;
}

std::string number(std::uint64_t value, std::size_t bytes, bool big_endian) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) {
    out += static_cast<char>(value >> 8 * (big_endian ? bytes - 1 - i : i) & 0xFF);
  }
  return out;
}

/// A TIFF structure of a description and `orientations`, an entry each.
std::string tiff(bool big_endian, const std::vector<std::uint32_t>& orientations, std::uint32_t type = 3) {
  const auto u16 = [&](std::uint32_t value) { return number(value, 2, big_endian); };
  const auto u32 = [&](std::uint32_t value) { return number(value, 4, big_endian); };
  std::string out = (big_endian ? std::string("MM\0*", 4) : std::string("II*\0", 4)) + u32(8);
  out += u16(static_cast<std::uint32_t>(orientations.size()) + 2);
  out += u16(0x010E) + u16(2) + u32(4) + "abc" + '\0';
  const bool is_long = type == 4 || type == 9;
  for (const std::uint32_t value : orientations) {
    out += u16(0x0112) + u16(type) + u32(1) + (is_long ? u32(value) : u16(value) + u16(0));
  }
  out += u16(0x0131) + u16(2) + u32(3) + "xy" + std::string(2, '\0');
  return out + u32(0) + "what offsets refer to";
}

std::string segment(char marker, const std::string& content) {
  return std::string("\xFF") + marker + number(content.size() + 2, 2, true) + content;
}

std::string exif(const std::string& structure) { return segment('\xE1', std::string("Exif\0\0", 6) + structure); }

/// Behind JFIF's segment, which comes first and has 18 bytes with its marker.
std::string with_segments(const std::string& jpeg, const std::string& segments) {
  return jpeg.substr(0, 20) + segments + jpeg.substr(20);
}

std::string chunk(const std::string& type, const std::string& content) {
  return number(content.size(), 4, true) + type + content + std::string(4, '\0');
}

/// Behind IHDR, which ends 33 bytes into the file.
std::string with_chunks(const std::string& png, const std::string& chunks) {
  return png.substr(0, 33) + chunks + png.substr(33);
}

const std::string k_jpeg = text_of(encode_jpeg(gradient_image(40, 24), 90));
const std::string k_png_image = text_of(encode_png(gradient_image(12, 8)));

std::string stripped(const std::string& image) { return text_of(strip_metadata(as_bytes(image))); }

}  // namespace

TEST_CASE("EXIF's orientation is read in both byte orders, and what makes no sense says nothing") {
  for (const bool big_endian : {false, true}) {
    for (std::uint32_t value = 1; value <= 8; ++value) {
      CHECK(exif_orientation(as_bytes(with_segments(k_jpeg, exif(tiff(big_endian, {value}))))) ==
            static_cast<int>(value));
      CHECK(exif_orientation(as_bytes(with_chunks(k_png_image, chunk("eXIf", tiff(big_endian, {value}))))) ==
            static_cast<int>(value));
    }
    for (const std::uint32_t value : {0, 9, 65535}) {
      CHECK(exif_orientation(as_bytes(with_segments(k_jpeg, exif(tiff(big_endian, {value}))))) == 1);
    }
    const auto of_type = [&](std::uint32_t type) {
      return exif_orientation(as_bytes(with_segments(k_jpeg, exif(tiff(big_endian, {6}, type)))));
    };
    // Numbers of other types turn an image too, bytes and text do not: as in Pillow.
    CHECK(of_type(4) == 6);
    CHECK(of_type(8) == 6);
    CHECK(of_type(9) == 6);
    for (const std::uint32_t type : {1, 2, 7, 99}) CHECK(of_type(type) == 1);
  }
  CHECK(exif_orientation(as_bytes(k_jpeg)) == 1);
  CHECK(exif_orientation(as_bytes("no image")) == 1);
}

TEST_CASE("all eight orientations are those of their definition") {
  // 2 x 3 pixels, told apart by their red: 0 1 / 2 3 / 4 5.
  Image image{.width = 2, .height = 3, .rgb = std::vector<std::uint8_t>(18)};
  for (std::uint8_t i = 0; i < 6; ++i) image.rgb[i * 3U] = i;
  const std::vector<std::vector<std::uint8_t>> expected{{0, 1, 2, 3, 4, 5}, {1, 0, 3, 2, 5, 4}, {5, 4, 3, 2, 1, 0},
                                                        {4, 5, 2, 3, 0, 1}, {0, 2, 4, 1, 3, 5}, {4, 2, 0, 5, 3, 1},
                                                        {5, 3, 1, 4, 2, 0}, {1, 3, 5, 0, 2, 4}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image turned = apply_orientation(image, orientation);
    CHECK(turned.width == (orientation >= 5 ? 3 : 2));
    CHECK(turned.height == (orientation >= 5 ? 2 : 3));
    std::vector<std::uint8_t> reds;
    for (std::size_t i = 0; i < turned.rgb.size(); i += 3) reds.push_back(turned.rgb[i]);
    CHECK(reds == expected[static_cast<std::size_t>(orientation) - 1]);
  }
}

TEST_CASE("stripping leaves the image's own bytes, without what comes after its end") {
  CHECK(stripped(k_jpeg).empty());
  CHECK(stripped(k_png_image).empty());
  const std::string extras = exif(tiff(false, {6})) + segment('\xE2', std::string("ICC_PROFILE\0\1\1abc", 17)) +
                             segment('\xFE', "a comment") + segment('\xED', "Photoshop 3.0");
  CHECK(stripped(with_segments(k_jpeg, extras)) == k_jpeg);
  CHECK(stripped(k_jpeg + k_jpeg) == k_jpeg);
  CHECK(stripped(with_segments(k_jpeg, extras) + "film") == k_jpeg);
  const std::string adobe = with_segments(k_jpeg, segment('\xEE', "Adobe\0d\0\0\0\0\1"));
  CHECK(stripped(adobe).empty());
  const std::string chunks =
      chunk("tEXt", "a") + chunk("eXIf", tiff(true, {3})) + chunk("iCCP", "b") + chunk("gAMA", "c");
  CHECK(stripped(with_chunks(k_png_image, chunks)) == k_png_image);
  CHECK(stripped(with_chunks(k_png_image, chunk("tRNS", "d"))).empty());
  CHECK(stripped(k_png_image + "more") == k_png_image);
  CHECK_THROWS_AS(stripped(k_png_image.substr(0, 8)), Error);
}

TEST_CASE("metadata are taken over, without an orientation that was applied however often it is said") {
  const std::string original = with_segments(k_jpeg, exif(tiff(true, {6, 8})) + segment('\xFE', "a comment"));
  const std::vector<std::byte> fresh = encode_jpeg(gradient_image(16, 16), 80);
  const std::string kept = text_of(with_metadata_of(as_bytes(original), false, fresh));
  CHECK(exif_orientation(as_bytes(kept)) == 6);
  CHECK(stripped(kept) == text_of(fresh));
  const std::string turned = text_of(with_metadata_of(as_bytes(original), true, fresh));
  CHECK(exif_orientation(as_bytes(turned)) == 1);
  CHECK(turned.find("\x01\x12") == std::string::npos);
  for (const char* part : {"abc", "xy", "what offsets refer to", "a comment"}) {
    CHECK(turned.find(part) != std::string::npos);
  }
  CHECK(turned.size() == kept.size());
  CHECK(decode_image(as_bytes(turned)).rgb == decode_image(fresh).rgb);
  // A directory that is cut off behind its entries.
  const std::string cut = tiff(false, {6}).substr(0, 8 + 2 + 3 * 12);
  const std::string from_cut = text_of(with_metadata_of(as_bytes(with_segments(k_jpeg, exif(cut))), true, fresh));
  CHECK(exif_orientation(as_bytes(with_segments(k_jpeg, exif(cut)))) == 6);
  CHECK(exif_orientation(as_bytes(from_cut)) == 1);
  // Of another kind nothing can be taken over.
  CHECK(text_of(with_metadata_of(as_bytes(k_png_image), true, fresh)) == text_of(fresh));
}

TEST_CASE("images with any byte changed or cut off anywhere are handled or refused") {
  const std::string extras = exif(tiff(false, {6, 3})) + segment('\xFE', "a comment");
  const std::vector<std::byte> fresh = encode_jpeg(gradient_image(16, 16), 80);
  const auto try_all = [&](const std::string& image) {
    // Of its own size, so that a sanitizer sees a step beyond.
    const std::vector<std::byte> bytes(as_bytes(image).begin(), as_bytes(image).end());
    const int orientation = exif_orientation(bytes);
    bool sane = orientation >= 1 && orientation <= 8;
    try {
      const std::vector<std::byte> once = strip_metadata(bytes);
      sane = sane && once.size() <= bytes.size() + 2 && strip_metadata(once).empty();
      with_metadata_of(bytes, true, fresh);
    } catch (const Error& error) {
      sane = sane && (error.code() == ErrorCode::damaged || error.code() == ErrorCode::unsupported);
    }
    return sane;
  };
  std::vector<std::size_t> bad;
  for (const std::string& good : {with_segments(k_jpeg, extras) + "behind",
                                  with_chunks(k_png_image, chunk("eXIf", tiff(true, {5})) + chunk("tEXt", "a"))}) {
    for (std::size_t at = 0; at < good.size(); ++at) {
      if (!try_all(good.substr(0, at))) bad.push_back(at);
      for (const int flip : {0x01, 0x10, 0x80, 0xFF}) {
        std::string changed = good;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        if (!try_all(changed)) bad.push_back(at);
      }
    }
  }
  CHECK(bad == std::vector<std::size_t>{});
}
