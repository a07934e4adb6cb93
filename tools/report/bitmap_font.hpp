// A small proportional bitmap font: printable ASCII, 5 pixels wide, 7 high, 2 below the base line.
//
// Pure functions over a constant table; safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bale {

inline constexpr std::uint32_t k_glyph_width = 5;
inline constexpr std::uint32_t k_glyph_height = 9;

/// Stand-ins outside ASCII: three dots, and a box for what the font does not have.
inline constexpr char k_ellipsis = '\x7F';
inline constexpr char k_replacement = '\x1A';

/// True where the glyph of `c` has ink at column x, row y; false outside the glyph.
bool glyph_ink(char c, std::int32_t x, std::int32_t y);

/// First inked column of `c`, and how many columns from there to the last.
struct GlyphExtent {
  std::uint32_t first = 0;
  std::uint32_t width = 0;
};
GlyphExtent glyph_extent(char c);

/// Pixels from the start of `text` to its end at scale 1, one pixel between glyphs.
std::uint32_t text_width(std::string_view text);

/// `utf8` in the characters of the font: one `k_replacement` for each character it lacks.
std::string to_font_text(std::string_view utf8);

/// `text`, which `to_font_text` made, cut and ended by `k_ellipsis` where it is wider than `width`.
std::string truncate_text(std::string text, std::uint32_t width);

}  // namespace bale
