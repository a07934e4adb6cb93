#include "bale/tools/report/html/charts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/report/html/page.hpp"

namespace bale::tools {
namespace {

constexpr double k_width = 340;
constexpr double k_height = 130;
constexpr double k_top = 16;
constexpr double k_bottom = k_height - 20;

std::string axis() {
  return fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", k_width, k_bottom, k_bottom);
}

std::string open_svg(std::string_view label) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", k_width, k_height,
                     html_text(label));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, html_text(text));
}

}  // namespace

std::string histogram_svg(const Spread& spread, std::string_view label, ShowNumber show) {
  if (spread.bins.empty()) return {};
  std::uint64_t tallest = 1;
  for (const Bin& bin : spread.bins) tallest = std::max(tallest, bin.count);
  const double step = k_width / static_cast<double>(spread.bins.size());
  const double gap = std::min(2.0, step * 0.2);
  std::string svg = open_svg(label) + axis();
  for (std::size_t i = 0; i < spread.bins.size(); ++i) {
    const Bin& bin = spread.bins[i];
    if (bin.count == 0) continue;
    const bool is_last = i + 1 == spread.bins.size();
    const double height =
        std::max(1.5, (k_bottom - k_top) * static_cast<double>(bin.count) / static_cast<double>(tallest));
    const std::string end = is_last ? show(std::max(spread.max, bin.end - 1)) : show(bin.end - 1);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" rx=\"1.5\"><title>{} to {}: "
        "{}</title></rect>\n",
        static_cast<double>(i) * step + gap / 2, k_bottom - height, step - gap, height, html_text(show(bin.begin)),
        html_text(end), human_count(bin.count));
  }
  const Bin& last = spread.bins.back();
  svg += text_at(0, k_height - 6, "start", show(spread.bins.front().begin));
  const Bin& middle = spread.bins[spread.bins.size() / 2];
  if (spread.bins.size() > 4) {
    svg += text_at(step * static_cast<double>(spread.bins.size() / 2), k_height - 6, "middle", show(middle.begin));
  }
  svg +=
      text_at(k_width, k_height - 6, "end", spread.max >= last.end ? show(last.begin) + " and more" : show(last.end));
  svg += text_at(k_width, 10, "end", "tallest: " + human_count(tallest));
  return svg + "</svg>\n";
}

std::string bar_svg(double share, std::string_view label) {
  const double width = 100 * std::clamp(share, 0.0, 1.0);
  return fmt::format(
      "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\"><rect class=\"rest\" "
      "width=\"100\" height=\"10\"/><rect class=\"bar\" width=\"{:.2f}\" height=\"10\"/></svg>",
      html_text(label), share > 0 ? std::max(width, 0.6) : 0);
}

std::string bar_table(std::span<const NamedCount> rows, std::uint64_t total, std::uint64_t most) {
  if (most == 0) {
    for (const NamedCount& row : rows) most = std::max(most, row.count);
  }
  most = std::max<std::uint64_t>(most, 1);
  std::string table = "<table>\n";
  for (const NamedCount& row : rows) {
    table += fmt::format("<tr><th scope=\"row\" class=\"name\"><bdi>{}</bdi></th><td class=\"n\">{}</td>",
                         html_text(row.name), human_count(row.count));
    if (total > 0) {
      const double share = 100 * static_cast<double>(row.count) / static_cast<double>(total);
      table += fmt::format("<td class=\"n dim\">{}</td>",
                           row.count > 0 && share < 0.1 ? std::string("&lt;0.1%") : fmt::format("{:.1f}%", share));
    }
    table += fmt::format("<td class=\"bar\">{}</td></tr>\n",
                         bar_svg(static_cast<double>(row.count) / static_cast<double>(most), human_count(row.count)));
  }
  return table + "</table>\n";
}

std::string curve_svg(std::span<const std::uint64_t> sorted, std::string_view label) {
  const double most = static_cast<double>(std::max<std::uint64_t>(sorted.front(), 1));
  const std::vector<std::uint64_t> shown = spread_choice(sorted.size(), 400);
  std::string points;
  for (const std::uint64_t i : shown) {
    const double x = sorted.size() > 1 ? k_width * static_cast<double>(i) / static_cast<double>(sorted.size() - 1) : 0;
    points += fmt::format("{:.1f},{:.1f} ", x, k_bottom - (k_bottom - k_top) * static_cast<double>(sorted[i]) / most);
  }
  points +=
      fmt::format("{:.1f},{:.1f}", k_width, k_bottom - (k_bottom - k_top) * static_cast<double>(sorted.back()) / most);
  std::string svg = open_svg(label);
  svg += fmt::format("<polygon class=\"area\" points=\"0,{:.1f} {} {:.1f},{:.1f}\"/>\n", k_bottom, points, k_width,
                     k_bottom);
  svg += fmt::format("<polyline class=\"line\" points=\"{}\"/>\n", points) + axis();
  svg += text_at(0, 10, "start", "largest: " + human_count(sorted.front()));
  svg += text_at(k_width, 10, "end", "smallest: " + human_count(sorted.back()));
  svg += text_at(0, k_height - 6, "start", "classes, by size");
  svg += text_at(k_width, k_height - 6, "end", human_count(sorted.size()));
  return svg + "</svg>\n";
}

}  // namespace bale::tools
