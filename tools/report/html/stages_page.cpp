#include "bale/tools/report/html/page.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/version.hpp"
#include "bale/tools/measure/verdicts/tune_verdict.hpp"

namespace bale::tools {
namespace {

struct StageBar {
  std::string name;
  double images_per_s = 0;
  bool is_limit = false;
  std::string note{};
};

std::string time_text(double images_per_s) {
  if (images_per_s <= 0) return "-";
  const double micros = 1e6 / images_per_s;
  return micros < 1000 ? fmt::format("{:.0f} µs", micros) : fmt::format("{:.2f} ms", micros / 1000);
}

std::string chart_of(const char* title, std::span<const StageBar> bars, const char* explanation) {
  double slowest = 0;
  for (const StageBar& bar : bars) slowest = std::max(slowest, bar.images_per_s > 0 ? 1 / bar.images_per_s : 0);
  std::string chart = fmt::format("<div class=\"card\"><h2>{}</h2>\n<div class=\"stages\">\n", title);
  for (const StageBar& bar : bars) {
    const double share = bar.images_per_s > 0 && slowest > 0 ? 1 / bar.images_per_s / slowest : 0;
    const std::string time = time_text(bar.images_per_s);
    chart += fmt::format(
        "<div class=\"stage {}\"><b>{}</b><div>{}</div><span class=\"n\">{}<br><span class=\"note\">{} "
        "img/s</span></span></div>\n",
        bar.is_limit ? "slow" : "", html_text(bar.name), bar_svg(share, bar.name + ": " + time + " per image"),
        html_text(time), rate_cell(bar.images_per_s));
    if (!bar.note.empty())
      chart += fmt::format("<p class=\"note\">{}: {}</p>\n", html_text(bar.name), html_text(bar.note));
  }
  return chart + fmt::format("</div>\n<p class=\"note\">{}</p></div>\n", explanation);
}

std::string stage_chart(std::span<const StageBar> bars) {
  return chart_of("Time per image", bars,
                  "The longest bar is the slowest stage. Stages run side by side, so the times do not add up.");
}

/// Empty without peers.
std::string peers_chart(double images_per_s, std::span<const PeerFigure> peers) {
  if (peers.empty() || images_per_s <= 0) return {};
  std::vector<StageBar> bars{{.name = "bale", .images_per_s = images_per_s}};
  for (const PeerFigure& peer : peers) {
    bars.push_back({.name = peer.name,
                    .images_per_s = peer.images_per_s,
                    .note = fmt::format("bale is {:.2f} times as fast", images_per_s / peer.images_per_s)});
  }
  return chart_of(
      "Time per image of whole pipelines", bars,
      "Figures of the others are of the given file. Compare only what ran on one machine with the same images.");
}

std::string page_of(const std::string& what, const std::string& headline, const std::string& advice,
                    const std::string& chart, const std::string& rest) {
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"dim\">{}</p>\n", html_text(what), html_text(headline));
  if (!advice.empty())
    body += fmt::format("<ul class=\"findings\"><li class=\"warn\">{}</li></ul>\n", html_sentence(advice));
  body += "<section style=\"margin-top:14px\">" + chart + rest + "</section>\n";
  body += html_footer(fmt::format("Measured by bale {}.", version()));
  return html_page(what, body);
}

const char* meaning_of(Stage stage) {
  switch (stage) {
    case Stage::read:
      return "the stored bytes, by threads";
    case Stage::verify:
      return "with checksums compared";
    case Stage::decode:
      return "whole images, by the workers";
    case Stage::train:
      return "crops of random size and flips, as batches";
  }
  return "";
}

}  // namespace

std::string bench_page(const std::string& headline, std::span<const MeasuredStage> stages,
                       const std::optional<DeviceFigures>& device, std::span<const PeerFigure> peers) {
  const std::optional<Stage> limit = limiting_stage(stages);
  std::vector<StageBar> bars;
  std::string rows;
  for (const auto& [stage, result] : stages) {
    bars.push_back(
        {.name = std::string(stage_name(stage)), .images_per_s = result.images_per_s(), .is_limit = limit == stage});
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"what dim\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{:.3f}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{:.3f} s</td></tr>\n",
        stage_name(stage), meaning_of(stage), rate_cell(result.images_per_s()), rate_cell(result.bytes_per_s() / 1e6),
        result.cpu_s_per_1000(), memory_cell(result.memory), result.first_batch_s);
  }
  std::string rest = fmt::format(
      "<div class=\"card scroll\"><table><tr><th>Stage</th><th class=\"what\"></th><th class=\"n\">img/s</th><th "
      "class=\"n\">MB/s</th><th "
      "class=\"n\">CPU s per 1,000</th><th class=\"n\">Memory</th><th class=\"n\">First "
      "batch</th></tr>\n{}</table></div>\n",
      rows);
  if (device)
    rest += fmt::format("<div class=\"card\"><h2>Device</h2><p>{}</p></div>\n", html_text(device_lines(*device)));
  const auto train =
      std::find_if(stages.begin(), stages.end(), [](const auto& one) { return one.first == Stage::train; });
  const double rate = train == stages.end() ? 0 : train->second.images_per_s();
  return page_of("How fast the dataset feeds a trainer", headline, bench_advice(stages),
                 stage_chart(bars) + peers_chart(rate, peers), rest);
}

std::string doctor_page(const std::string& headline, const PipelineCommand& pipeline, const Examination& examined,
                        std::span<const PeerFigure> peers) {
  const DoctorFigures& figures = examined.figures;
  const Bottleneck bottleneck = bottleneck_of(figures);
  const bool is_read = bottleneck == Bottleneck::read || bottleneck == Bottleneck::network;
  std::vector<StageBar> bars{
      {.name = "read", .images_per_s = figures.read, .is_limit = is_read, .note = "storage and checksums"},
      {.name = "decode",
       .images_per_s = figures.load,
       .is_limit = bottleneck == Bottleneck::decode,
       .note = fmt::format("the whole loader, with reading; {:.0f}% of the cores", figures.setting.cpu_share * 100)}};
  if (figures.read_again) {
    bars.insert(
        bars.begin() + 1,
        StageBar{.name = "again", .images_per_s = *figures.read_again, .note = "the same images, from the cache"});
  }
  if (figures.copy) {
    bars.push_back(
        {.name = "copy",
         .images_per_s = *figures.copy,
         .is_limit = bottleneck == Bottleneck::copy,
         .note = fmt::format("{:.1f} GB/s to {}", examined.copies.bytes_per_s / 1e9, examined.copies.device_name)});
  }
  if (figures.compute) {
    bars.push_back({.name = "compute",
                    .images_per_s = *figures.compute,
                    .is_limit = bottleneck == Bottleneck::compute,
                    .note = fmt::format("steps of batches of {}", pipeline.options.batch_size)});
  }
  const std::string verdict =
      fmt::format("You are {}-bound. {} {}", bottleneck_name(bottleneck), advice(figures), waiting_text(figures));
  return page_of("What training waits for", headline, verdict, stage_chart(bars) + peers_chart(figures.load, peers),
                 {});
}

}  // namespace bale::tools
