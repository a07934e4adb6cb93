#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tools/report/pictures/bitmap_font.hpp"
#include "bale/tools/report/pictures/contact_sheet.hpp"

namespace {

using SheetColor = std::vector<std::uint8_t>;

bale::Thumbnail flat(std::uint32_t width, std::uint32_t height, std::uint8_t value, std::string caption = {}) {
  return {{.width = width, .height = height, .rgb = SheetColor(std::size_t{width} * height * 3, value)},
          std::move(caption)};
}

SheetColor pixel(const bale::Image& image, std::uint32_t x, std::uint32_t y) {
  const auto at = image.rgb.begin() + static_cast<std::ptrdiff_t>((std::size_t{y} * image.width + x) * 3);
  return {at, at + 3};
}

/// How many pixels of `color` the columns [from, to) hold.
std::size_t count(const bale::Image& image, const SheetColor& color, std::uint32_t from, std::uint32_t to) {
  std::size_t found = 0;
  for (std::uint32_t y = 0; y < image.height; ++y) {
    for (std::uint32_t x = from; x < to; ++x) found += pixel(image, x, y) == color ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("Tiles stand in rows, the images in them, background between") {
  const std::vector<bale::Thumbnail> items = {flat(50, 40, 200), flat(40, 50, 100), flat(9, 9, 50)};
  const bale::Image sheet = bale::make_contact_sheet(items, 2, 48);
  // Tile 48, gap 6, margin 9.
  CHECK(sheet.width == 9 + 48 + 6 + 48 + 9);
  CHECK(sheet.height == 9 + 48 + 6 + 48 + 9);
  CHECK(pixel(sheet, 9 + 24, 9 + 24) == SheetColor(3, 200));
  CHECK(pixel(sheet, 9 + 54 + 24, 9 + 24) == SheetColor(3, 100));
  CHECK(pixel(sheet, 9 + 24, 9 + 54 + 24) == SheetColor(3, 50));
  const SheetColor background = pixel(sheet, 0, 0);
  CHECK(pixel(sheet, 9 + 48 + 3, 9 + 24) == background);
  CHECK(pixel(sheet, 9 + 54 + 24, 9 + 54 + 24) == background);
}

TEST_CASE("Fewer items than columns make a narrower sheet") {
  const std::vector<bale::Thumbnail> items = {flat(5, 5, 1)};
  CHECK(bale::make_contact_sheet(items, 10, 48).width == 48 + 2 * 9);
}

TEST_CASE("Long images are shown whole, others fill the tile") {
  const std::vector<bale::Thumbnail> items = {flat(400, 100, 250), flat(200, 100, 250), flat(1, 3000, 250)};
  const bale::Image sheet = bale::make_contact_sheet(items, 3, 48);
  const auto inked = [&](std::uint32_t tile) {
    return count(sheet, SheetColor(3, 250), 9 + tile * 54, 9 + tile * 54 + 48);
  };
  CHECK(inked(0) == 48 * 12);
  CHECK(inked(1) > 48 * 48 - 16);  // all but the rounded corners
  CHECK(inked(2) >= 46);           // one column
}

TEST_CASE("What cannot be decoded gets a placeholder of its own") {
  const std::vector<bale::Thumbnail> items = {{}, flat(48, 48, 0)};
  const bale::Image sheet = bale::make_contact_sheet(items, 2, 96);
  // Text in a color that nothing else has.
  CHECK(count(sheet, {236, 140, 98}, 12, 12 + 96) > 50);
  CHECK(count(sheet, {236, 140, 98}, 12 + 96, sheet.width) == 0);
}

TEST_CASE("Captions make room, stay below their tile and never leave it") {
  std::vector<bale::Thumbnail> items = {flat(8, 8, 0, "one"), flat(8, 8, 0)};
  const std::uint32_t one_line = bale::make_contact_sheet(items, 2, 64).height;
  items[1].caption = "first\nsecond";
  CHECK(bale::make_contact_sheet(items, 2, 64).height > one_line);
  items[0].caption = std::string(5000, 'W') + "\n" + std::string(5000, '\xFF');
  for (const std::uint32_t tile : {32u, 64u, 256u}) {
    const bale::Image sheet = bale::make_contact_sheet(items, 2, tile);
    const std::uint32_t gap = std::max(tile / 12, 6u);
    const std::uint32_t from = gap * 3 / 2 + tile;
    CHECK(count(sheet, {230, 232, 235}, 0, from) > 0);
    CHECK(count(sheet, {230, 232, 235}, from, from + gap) == 0);
    CHECK(count(sheet, {146, 151, 160}, from, from + gap) == 0);
  }
}

TEST_CASE("Sheets that make no sense are refused") {
  const std::vector<bale::Thumbnail> items(3, flat(4, 4, 1));
  CHECK_THROWS_AS(bale::make_contact_sheet({}, 2, 64), bale::Error);
  CHECK_THROWS_AS(bale::make_contact_sheet(items, 0, 64), bale::Error);
  CHECK_THROWS_AS(bale::make_contact_sheet(items, 2, 31), bale::Error);
  CHECK_THROWS_AS(bale::make_contact_sheet(items, 3, 16000), bale::Error);
}

TEST_CASE("Font: every printable character but the space has ink, and no two look alike") {
  std::vector<std::string> shapes;
  for (char c = '!'; c <= '~'; ++c) {
    std::string shape;
    for (std::int32_t y = 0; y < 9; ++y) {
      for (std::int32_t x = 0; x < 5; ++x) shape += bale::glyph_ink(c, x, y) ? '#' : '.';
    }
    CHECK(shape.find('#') != std::string::npos);
    CHECK(std::find(shapes.begin(), shapes.end(), shape) == shapes.end());
    shapes.push_back(shape);
  }
  CHECK(bale::glyph_extent(' ').width > 0);
  CHECK_FALSE(bale::glyph_ink('M', -1, 0));
  CHECK_FALSE(bale::glyph_ink('M', 0, 9));
}

TEST_CASE("Text: letters that the font lacks can be read, long text ends in an ellipsis") {
  const std::string box(1, bale::k_replacement);
  CHECK(bale::to_font_text("a\xC3\xA9z") == "aez");
  CHECK(bale::to_font_text("e\xCC\x81") == "e");  // as macOS writes it
  CHECK(bale::to_font_text("Stra\xC3\x9F"
                           "e \xC5\x81\xC3\xB3"
                           "d\xC5\xBA") == "Strasse Lodz");
  CHECK(bale::to_font_text("\xD0\xBA\xD0\xBE\xD1\x82") == "kot");
  CHECK(bale::to_font_text("\xCE\xB3\xCE\xAC\xCF\x84\xCE\xB1") == "gata");
  CHECK(bale::to_font_text("m\xC3\xA8o \xE1\xBB\x87") == "meo e");
  CHECK(bale::to_font_text("\xE7\x8C\xAB") == "\\u732b");
  CHECK(bale::to_font_text("\xF0\x9F\x90\x88") == "\\U0001f408");
  CHECK(bale::to_font_text("\xEF\xBC\xA1\xE2\x80\x93\xEF\xBC\xA2") == "A-B");
  CHECK(bale::to_font_text("\xFF\n\x7F") == box + box + box);
  CHECK(bale::truncate_text("short", 100) == "short");
  const std::string cut = bale::truncate_text("a rather long caption", 60);
  CHECK(cut.back() == bale::k_ellipsis);
  CHECK(cut.substr(0, 8) == "a rather");
  CHECK(bale::text_width(cut) <= 60);
  CHECK(bale::text_width("") == 0);
}
