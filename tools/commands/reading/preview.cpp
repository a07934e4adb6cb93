#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

constexpr std::uint32_t k_picture_px = 144;
constexpr std::uint64_t k_max_count = 2000;

/// `count` distinct numbers below `size`, ascending (Floyd's algorithm, which needs no list of all numbers).
std::vector<std::uint64_t> draw(std::uint64_t size, std::uint64_t count, std::uint64_t seed) {
  KeyedRandom random{seed};
  std::set<std::uint64_t> drawn;
  for (std::uint64_t last = size - std::min(count, size); last < size; ++last) {
    if (!drawn.insert(random.below(last + 1)).second) drawn.insert(last);
  }
  return {drawn.begin(), drawn.end()};
}

std::string label_of(const Dataset& dataset, const SampleView& sample) {
  if (sample.label == k_no_label) return "no label";
  const auto& classes = dataset.classes();
  if (sample.label < 0 || static_cast<std::uint64_t>(sample.label) >= classes.size())
    return fmt::format("{}", sample.label);
  return fmt::format("{} <bdi>{}</bdi>", sample.label, html_text(classes[static_cast<std::size_t>(sample.label)]));
}

/// An image that cannot be decoded becomes a placeholder, so that the others are still shown.
std::string picture_of(const SampleView& sample, std::uint64_t& num_failed) {
  try {
    if (const FieldView* const image = sample.find_image()) return picture_element(image->bytes, k_picture_px);
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
  }
  ++num_failed;
  return std::string(k_no_picture);
}

void require_page_name(const std::string& out) {
  const std::size_t dot = out.rfind('.');
  const std::string suffix =
      dot == std::string::npos ? std::string() : field_name(std::string_view(out).substr(dot + 1));
  if (suffix == "html" || suffix == "htm") return;
  throw Error(ErrorCode::invalid_argument, "preview writes a page, and this is not the name of one",
              {.path = out, .hint = "use a name ending in .html"});
}

std::string page_of(const PreviewCommand& command, std::uint64_t size, std::uint64_t num_shown,
                    const std::string& figures) {
  const std::string spec = without_secrets(command.spec);
  const std::string body =
      fmt::format("<h1><bdi>{}</bdi></h1>\n<p class=\"dim\">{} of {}, drawn at random with seed {}</p>\n",
                  html_text(spec), human_count(num_shown), plural(size, "sample"), command.seed) +
      "<div class=\"sheet\">\n" + figures + "</div>\n" + html_footer(fmt::format("Made by bale {}.", version()));
  return html_page("Samples of " + spec, body);
}

}  // namespace

int run_preview(const PreviewCommand& command, Terminal& terminal) {
  require_page_name(command.out);
  if (command.count > k_max_count) {
    throw Error(ErrorCode::invalid_argument, fmt::format("--count: at most {}", k_max_count));
  }
  require_output_file(command.out, command.force);
  const Dataset dataset = open_dataset(command.spec, terminal);
  show_notices(dataset.notices(), "entry", terminal);
  const std::vector<std::uint64_t> chosen = draw(dataset.size(), command.count, command.seed);
  if (chosen.empty()) throw Error(ErrorCode::not_found, "no samples to show", {.path = command.spec});
  dataset.prefetch(chosen);
  std::string figures;
  std::uint64_t num_failed = 0;
  Scratch scratch;
  for (const std::uint64_t i : chosen) {
    const SampleView sample = dataset.read(i, scratch);
    figures +=
        fmt::format("<figure>{}<figcaption><b>{}</b><br><bdi>{}</bdi></figcaption></figure>\n",
                    picture_of(sample, num_failed), label_of(dataset, sample), html_text(printed_key(sample.key)));
  }
  publish_file(command.out, as_bytes(page_of(command, dataset.size(), chosen.size(), figures)));
  if (command.json) {
    terminal.print(json_document({{"file", bytes_to_json(command.out)},
                                  {"samples", dataset.size()},
                                  {"shown", chosen.size()},
                                  {"undecodable", num_failed}}));
    return k_exit_ok;
  }
  terminal.print(fmt::format("{}: {} of {}\n", printable(command.out), human_count(chosen.size()),
                             plural(dataset.size(), "sample")));
  if (num_failed > 0) terminal.note(fmt::format("{} could not be decoded", plural(num_failed, "image")));
  return k_exit_ok;
}

}  // namespace bale::tools
