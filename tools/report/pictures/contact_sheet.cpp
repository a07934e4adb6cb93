#include "bale/tools/report/pictures/contact_sheet.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/report/pictures/bitmap_font.hpp"

namespace bale {
namespace {

using Color = std::array<std::uint8_t, 3>;

constexpr Color k_background = {22, 23, 26};
constexpr Color k_caption = {230, 232, 235};
constexpr Color k_second_line = {146, 151, 160};
constexpr Color k_empty_tile = {38, 40, 45};
constexpr Color k_stripe = {45, 48, 54};
constexpr Color k_warning = {236, 140, 98};

constexpr std::uint32_t k_min_tile_px = 32;
constexpr std::uint64_t k_max_sheet_pixels = std::uint64_t{1} << 28;
constexpr std::uint32_t k_line_px = k_glyph_height + 3;

struct Point {
  std::uint32_t x;
  std::uint32_t y;
};

/// All sizes of the sheet in pixels. They grow with the tile.
struct SheetLayout {
  std::uint32_t tile;
  std::uint32_t columns;
  std::uint32_t rows;
  std::uint32_t text_scale;
  std::uint32_t gap;
  std::uint32_t margin;
  std::uint32_t caption;  // height below a tile; 0 if no item has a caption

  Point tile_at(std::size_t index) const {
    const auto column = static_cast<std::uint32_t>(index % columns);
    const auto row = static_cast<std::uint32_t>(index / columns);
    return {margin + column * (tile + gap), margin + row * (tile + caption + gap)};
  }
  std::uint64_t width() const { return std::uint64_t{margin} * 2 + std::uint64_t{columns} * (tile + gap) - gap; }
  std::uint64_t height() const {
    return std::uint64_t{margin} * 2 + std::uint64_t{rows} * (tile + caption + gap) - gap;
  }
};

SheetLayout make_layout(std::span<const Thumbnail> items, std::uint32_t columns, std::uint32_t tile_px) {
  if (items.empty()) throw Error(ErrorCode::invalid_argument, "no images for a contact sheet");
  if (columns == 0) throw Error(ErrorCode::invalid_argument, "a contact sheet needs a column");
  if (tile_px < k_min_tile_px || tile_px > (1u << 14) || items.size() > (1u << 24)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("no contact sheet of {} tiles of {} pixels", items.size(), tile_px));
  }
  SheetLayout layout{};
  layout.tile = tile_px;
  layout.columns = static_cast<std::uint32_t>(std::min<std::size_t>(columns, items.size()));
  layout.rows = static_cast<std::uint32_t>((items.size() + layout.columns - 1) / layout.columns);
  layout.text_scale = tile_px >= 224 ? 2 : 1;
  layout.gap = std::max(tile_px / 12, 6u);
  layout.margin = layout.gap * 3 / 2;
  std::uint32_t lines = 0;
  for (const Thumbnail& item : items) {
    if (item.caption.empty()) continue;
    lines = std::max(lines, item.caption.find('\n') == std::string::npos ? 1u : 2u);
  }
  if (lines > 0) layout.caption = (6 + lines * k_line_px) * layout.text_scale;
  if (layout.width() > k_max_sheet_pixels / layout.height()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a contact sheet of {}x{} pixels is too large", layout.width(), layout.height()));
  }
  return layout;
}

class Canvas {
 public:
  Canvas(std::uint32_t width, std::uint32_t height) : image_{.width = width, .height = height} {
    image_.rgb.reserve(std::size_t{width} * height * 3);
    for (std::size_t i = std::size_t{width} * height; i > 0; --i) {
      image_.rgb.insert(image_.rgb.end(), k_background.begin(), k_background.end());
    }
  }

  Image take() { return std::move(image_); }

  void set(Point at, const Color& color) { std::copy(color.begin(), color.end(), pixel(at)); }

  /// Blends `color` into the pixel with `weight` in [0, 1].
  void blend(Point at, const Color& color, double weight) {
    std::uint8_t* to = pixel(at);
    for (std::size_t i = 0; i < 3; ++i) {
      to[i] = static_cast<std::uint8_t>(std::lround(to[i] + (color[i] - to[i]) * weight));
    }
  }

  void paste(const Image& image, Point at) {
    for (std::uint32_t y = 0; y < image.height; ++y) {
      const auto from = image.rgb.begin() + static_cast<std::ptrdiff_t>(std::size_t{y} * image.width * 3);
      std::copy(from, from + static_cast<std::ptrdiff_t>(image.width) * 3, pixel({at.x, at.y + y}));
    }
  }

  void write(std::string_view text, Point at, const Color& color, std::uint32_t scale) {
    for (const char c : text) {
      const GlyphExtent extent = glyph_extent(c);
      const auto first = static_cast<std::int32_t>(extent.first * scale);
      for (std::uint32_t y = 0; y < k_glyph_height * scale; ++y) {
        for (std::uint32_t x = 0; x < extent.width * scale; ++x) {
          const bool ink = scale == 2
                               ? smooth_ink(c, first + static_cast<std::int32_t>(x), static_cast<std::int32_t>(y))
                               : glyph_ink(c, first + static_cast<std::int32_t>(x), static_cast<std::int32_t>(y));
          if (ink) set({at.x + x, at.y + y}, color);
        }
      }
      at.x += (extent.width + 1) * scale;
    }
  }

 private:
  // Doubles the size with smooth diagonals: if two inked pixels touch only at a corner, the quarter pixels next to that
  // corner are filled. Right angles stay sharp, so that a D does not look like an O.
  static bool smooth_ink(char c, std::int32_t x, std::int32_t y) {
    const std::int32_t column = x / 2;
    const std::int32_t row = y / 2;
    if (glyph_ink(c, column, row)) return true;
    const std::int32_t side = x % 2 == 0 ? -1 : 1;
    const std::int32_t end = y % 2 == 0 ? -1 : 1;
    return glyph_ink(c, column + side, row) && glyph_ink(c, column, row + end) &&
           !glyph_ink(c, column + side, row + end);
  }

  std::uint8_t* pixel(Point at) { return image_.rgb.data() + (std::size_t{at.y} * image_.width + at.x) * 3; }

  Image image_;
};

void draw_placeholder(Canvas& canvas, const SheetLayout& layout, Point at) {
  const std::uint32_t period = std::max(layout.tile / 8, 8u);
  for (std::uint32_t y = 0; y < layout.tile; ++y) {
    for (std::uint32_t x = 0; x < layout.tile; ++x) {
      canvas.set({at.x + x, at.y + y}, (x + y) % period < period / 2 ? k_stripe : k_empty_tile);
    }
  }
  const std::uint32_t scale = layout.text_scale;
  const std::string text = truncate_text("cannot decode", (layout.tile - 8) / scale);
  const std::uint32_t width = text_width(text) * scale;
  const std::uint32_t height = 7 * scale;
  canvas.write(text, {at.x + (layout.tile - width) / 2, at.y + (layout.tile - height) / 2}, k_warning, scale);
}

void draw_image(Canvas& canvas, const SheetLayout& layout, Point at, const Image& image) {
  const std::uint32_t shorter = std::min(image.width, image.height);
  const std::uint32_t longer = std::max(image.width, image.height);
  if (longer / 2 < shorter || longer == shorter * 2) {
    canvas.paste(resize_and_center_crop(image, layout.tile), at);
    return;
  }
  for (std::uint32_t y = 0; y < layout.tile; ++y) {
    for (std::uint32_t x = 0; x < layout.tile; ++x) canvas.set({at.x + x, at.y + y}, k_empty_tile);
  }
  const auto narrow =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(std::uint64_t{layout.tile} * shorter / longer, 1));
  const bool wide = image.width > image.height;
  const std::uint32_t beside = (layout.tile - narrow) / 2;
  canvas.paste(resize_image(image, wide ? layout.tile : narrow, wide ? narrow : layout.tile),
               {at.x + (wide ? 0 : beside), at.y + (wide ? beside : 0)});
}

/// Rounds the corners of a tile, with soft edges.
void round_corners(Canvas& canvas, std::uint32_t tile, Point at) {
  const std::uint32_t radius = std::max(tile / 32, 2u);
  for (std::uint32_t y = 0; y < radius; ++y) {
    for (std::uint32_t x = 0; x < radius; ++x) {
      const double outside = std::hypot(radius - x - 0.5, radius - y - 0.5) - radius + 0.5;
      const double weight = std::clamp(outside, 0.0, 1.0);
      for (const std::uint32_t right : {x, tile - 1 - x}) {
        for (const std::uint32_t down : {y, tile - 1 - y}) {
          canvas.blend({at.x + right, at.y + down}, k_background, weight);
        }
      }
    }
  }
}

void draw_caption(Canvas& canvas, const SheetLayout& layout, Point at, std::string_view caption) {
  if (caption.empty()) return;
  const std::uint32_t scale = layout.text_scale;
  const std::size_t newline = std::min(caption.find('\n'), caption.size());
  const std::string_view second = caption.substr(std::min(newline + 1, caption.size()));
  const auto line = [&](std::string_view text) { return truncate_text(to_font_text(text), (layout.tile - 1) / scale); };
  at = {at.x + 1, at.y + layout.tile + 6 * scale};
  canvas.write(line(caption.substr(0, newline)), at, k_caption, scale);
  at.y += k_line_px * scale;
  if (!second.empty()) canvas.write(line(second), at, k_second_line, scale);
}

}  // namespace

Image make_contact_sheet(std::span<const Thumbnail> items, std::uint32_t columns, std::uint32_t tile_px) {
  const SheetLayout layout = make_layout(items, columns, tile_px);
  Canvas canvas(static_cast<std::uint32_t>(layout.width()), static_cast<std::uint32_t>(layout.height()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Point at = layout.tile_at(i);
    if (items[i].image.rgb.empty()) {
      draw_placeholder(canvas, layout, at);
    } else {
      draw_image(canvas, layout, at, items[i].image);
    }
    round_corners(canvas, layout.tile, at);
    draw_caption(canvas, layout, at, items[i].caption);
  }
  return canvas.take();
}

}  // namespace bale
