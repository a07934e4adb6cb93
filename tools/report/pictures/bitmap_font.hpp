// A small proportional bitmap font: printable ASCII, 5 pixels wide, 7 high, 2 below the baseline.
//
// Pure functions over a constant table; safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bale {

inline constexpr std::uint32_t k_glyph_width = 5;
inline constexpr std::uint32_t k_glyph_height = 9;

/// Characters outside printable ASCII: three dots, and a box for characters that the font does not have.
inline constexpr char k_ellipsis = '\x7F';
inline constexpr char k_replacement = '\x1A';

/// True if the glyph of `c` has ink at column x, row y; false outside the glyph.
bool glyph_ink(char c, std::int32_t x, std::int32_t y);

/// The first inked column of `c`, and the number of columns from it to the last inked one.
struct GlyphExtent {
  std::uint32_t first = 0;
  std::uint32_t width = 0;
};
GlyphExtent glyph_extent(char c);

/// The width of `text` in pixels at scale 1, with one pixel between glyphs.
std::uint32_t text_width(std::string_view text);

/// `utf8` in the characters of the font (ascii_text()); `k_replacement` for control characters and what is not UTF-8.
std::string to_font_text(std::string_view utf8);

/// `text`, which is made by to_font_text(). If it is wider than `width`, it is cut and ends in `k_ellipsis`.
std::string truncate_text(std::string text, std::uint32_t width);

/// Names in ASCII, for a font that has no other letters.
/// `utf8` in printable ASCII: letters without their marks ("é" is "e"), Greek and Cyrillic as they are romanized ("кот"
/// is "kot"), and every other character as Python escapes it ("\u732b"). Control characters and bytes that are not
/// UTF-8 are `replacement`. Pure; safe in any thread.
std::string ascii_text(std::string_view utf8, char replacement);

}  // namespace bale
