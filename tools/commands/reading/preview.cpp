#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/report/pictures/contact_sheet.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

constexpr std::uint32_t k_tile_px = 160;
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

std::string caption_of(const Dataset& dataset, const SampleView& sample) {
  std::string title = "no label";
  if (sample.label != k_no_label) title = fmt::format("{}", sample.label);
  const auto& classes = dataset.classes();
  if (sample.label >= 0 && static_cast<std::uint64_t>(sample.label) < classes.size()) {
    title += ' ' + printable(classes[static_cast<std::size_t>(sample.label)]);
  }
  return title + '\n' + printed_key(sample.key);
}

/// An image that cannot be decoded becomes a placeholder, so that the others are still shown.
Image thumbnail_of(const SampleView& sample, std::uint64_t& num_failed) {
  try {
    if (const FieldView* const image = sample.find_image()) return decode_thumbnail(image->bytes, k_tile_px);
  } catch (const Error&) {
    // Counted like a sample without an image.
  }
  ++num_failed;
  return {};
}

bool is_png(const std::string& out) {
  const std::size_t dot = out.rfind('.');
  const std::string suffix =
      dot == std::string::npos ? std::string{} : field_name(std::string_view(out).substr(dot + 1));
  if (suffix == "png") return true;
  if (suffix == "jpg") return false;
  throw Error(ErrorCode::invalid_argument, "neither a .png nor a .jpg",
              {.path = out, .hint = "use a .png or .jpg extension"});
}

}  // namespace

int run_preview(const PreviewCommand& command, Terminal& terminal) {
  const bool png = is_png(command.out);
  if (command.count > k_max_count) {
    throw Error(ErrorCode::invalid_argument, fmt::format("--count: at most {}", k_max_count));
  }
  require_output_file(command.out, command.force);
  const Dataset dataset = open_dataset(command.spec, terminal);
  show_notices(dataset.notices(), "entry", terminal);
  const std::vector<std::uint64_t> chosen = draw(dataset.size(), command.count, command.seed);
  if (chosen.empty()) throw Error(ErrorCode::not_found, "no samples to show", {.path = command.spec});
  dataset.prefetch(chosen);
  std::vector<Thumbnail> items;
  std::uint64_t num_failed = 0;
  Scratch scratch;
  for (const std::uint64_t i : chosen) {
    const SampleView sample = dataset.read(i, scratch);
    items.push_back({.image = thumbnail_of(sample, num_failed), .caption = caption_of(dataset, sample)});
  }
  const auto columns = static_cast<std::uint32_t>(std::min<std::uint64_t>(command.columns, items.size()));
  const Image sheet = make_contact_sheet(items, columns, k_tile_px);
  constexpr int k_quality = 90;
  publish_file(command.out, png ? encode_png(sheet) : encode_jpeg(sheet, k_quality));
  if (command.json) {
    terminal.print(json_document({{"file", bytes_to_json(command.out)},
                                  {"samples", dataset.size()},
                                  {"shown", items.size()},
                                  {"undecodable", num_failed},
                                  {"width", sheet.width},
                                  {"height", sheet.height}}));
    return k_exit_ok;
  }
  terminal.print(fmt::format("{}: {} of {}, {} x {} pixels\n", printable(command.out), human_count(items.size()),
                             plural(dataset.size(), "sample"), sheet.width, sheet.height));
  if (num_failed > 0) terminal.note(fmt::format("{} could not be decoded", plural(num_failed, "image")));
  return k_exit_ok;
}

}  // namespace bale::tools
