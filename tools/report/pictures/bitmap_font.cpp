#include "bale/tools/report/pictures/bitmap_font.hpp"

#include <algorithm>
#include <array>

namespace bale {
namespace {

constexpr std::uint32_t k_space_width = 3;

// 45 bits per glyph: 9 rows of 5 pixels from top to bottom, left to right. The first pixel is the highest bit.
// From space to tilde, then the ellipsis and the replacement box.
constexpr std::array<std::uint64_t, 97> k_glyphs = {
    0x000000000000, 0x042108401000, 0x0a5000000000, 0x0a57d5f52800, 0x047d1c5f1000, 0x19c88889cc00, 0x0c9511593400,
    0x042000000000, 0x022210820800, 0x082084222000, 0x00255d520000, 0x00213e420000, 0x000000063088, 0x00003e000000,
    0x000000063000, 0x000888880000, 0x0e8ceb98b800, 0x046108423800, 0x0e8844447c00, 0x0e884c18b800, 0x0232a5f10800,
    0x1f878218b800, 0x06443d18b800, 0x1f0888842000, 0x0e8c5d18b800, 0x0e8c5e113000, 0x006300c60000, 0x006300c61100,
    0x022220820800, 0x0007c1f00000, 0x082082222000, 0x0e8844401000, 0x0e8deb783800, 0x0e8c7f18c400, 0x1e8c7d18f800,
    0x0e8c2108b800, 0x1e8c6318f800, 0x1f843d087c00, 0x1f843d084000, 0x0e8c2f18bc00, 0x118c7f18c400, 0x0e2108423800,
    0x071084293000, 0x119531494400, 0x108421087c00, 0x11dd6b18c400, 0x118e6b38c400, 0x0e8c6318b800, 0x1e8c7d084000,
    0x0e8c63593400, 0x1e8c7d494400, 0x0f841c10f800, 0x1f2108421000, 0x118c6318b800, 0x118c63151000, 0x118c6b5dc400,
    0x118a88a8c400, 0x118a88421000, 0x1f0888887c00, 0x0e4210843800, 0x008208208000, 0x0e1084213800, 0x045440000000,
    0x0000000003e0, 0x082000000000, 0x000382f8bc00, 0x1087a318f800, 0x0003a108b800, 0x010be318bc00, 0x0003a3f83800,
    0x064a38842000, 0x0003e318bc2e, 0x1087a318c400, 0x040308423800, 0x020184210a4c, 0x1084a98a4800, 0x0c2108423800,
    0x0006ab5ad400, 0x0007a318c400, 0x0003a318b800, 0x0007a318fa10, 0x0003e318bc21, 0x0005b3084000, 0x0003e0e0f800,
    0x084710849800, 0x00046318bc00, 0x000463151000, 0x00046b5aa800, 0x000454454400, 0x00046318bc2e, 0x0007c4447c00,
    0x032110420c00, 0x042108421080, 0x182104426000, 0x00022a200000, 0x000000005400, 0x1f8c6318fc00,
};

std::uint64_t glyph(char c) {
  if (c == k_ellipsis) return k_glyphs[95];
  if (c < ' ' || c > '~') return k_glyphs[96];
  return k_glyphs[static_cast<std::size_t>(c - ' ')];
}

std::uint32_t advance(char c) { return glyph_extent(c).width + 1; }

}  // namespace

bool glyph_ink(char c, std::int32_t x, std::int32_t y) {
  const auto width = static_cast<std::int32_t>(k_glyph_width);
  const auto height = static_cast<std::int32_t>(k_glyph_height);
  if (x < 0 || y < 0 || x >= width || y >= height) return false;
  const auto bit = static_cast<std::uint32_t>((height - 1 - y) * width + (width - 1 - x));
  return (glyph(c) >> bit & 1) != 0;
}

GlyphExtent glyph_extent(char c) {
  // All digits have the same width, so that numbers line up in columns.
  if (c >= '0' && c <= '9') return {0, k_glyph_width};
  const std::uint64_t bits = glyph(c);
  std::uint64_t columns = 0;  // the OR of all rows
  for (std::uint32_t y = 0; y < k_glyph_height; ++y) columns |= bits >> (y * k_glyph_width) & 0x1F;
  if (columns == 0) return {0, k_space_width};
  std::uint32_t first = 0;
  while ((columns >> (k_glyph_width - 1 - first) & 1) == 0) ++first;
  std::uint32_t end = k_glyph_width;
  while ((columns >> (k_glyph_width - end) & 1) == 0) --end;
  return {first, end - first};
}

std::uint32_t text_width(std::string_view text) {
  std::uint32_t width = 0;
  for (const char c : text) width += advance(c);
  return width == 0 ? 0 : width - 1;
}

std::string to_font_text(std::string_view utf8) { return ascii_text(utf8, k_replacement); }

std::string truncate_text(std::string text, std::uint32_t width) {
  if (text_width(text) <= width) return text;
  std::uint32_t used = glyph_extent(k_ellipsis).width;
  std::size_t kept = 0;
  while (kept < text.size() && used + advance(text[kept]) <= width) used += advance(text[kept++]);
  text.resize(kept);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text + k_ellipsis;
}

}  // namespace bale
