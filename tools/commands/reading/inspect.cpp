#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/dataset_summary.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

constexpr std::size_t k_max_classes = 8;
constexpr std::size_t k_max_shards = 24;

std::string printable_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}{}", text.empty() ? "" : ", ", printable(name));
  return text;
}

std::string head_text(const DatasetSummary& summary) {
  const auto indexed = std::count_if(summary.shards.begin(), summary.shards.end(),
                                     [](const DatasetSummary::ShardRow& shard) { return shard.indexed; });
  TextTable table({Align::left, Align::left});
  if (summary.has_manifest) table.add({"name", printable(summary.name)});
  table.add({"format", summary.layout.empty() ? summary.format : summary.format + '.' + summary.layout});
  table.add({"samples", human_count(summary.num_samples)});
  if (summary.num_skipped > 0) table.add({"skipped", human_count(summary.num_skipped)});
  const auto entered = std::count_if(summary.shards.begin(), summary.shards.end(),
                                     [](const DatasetSummary::ShardRow& shard) { return shard.has_seek_points; });
  table.add({"shards", fmt::format("{} ({} indexed{})", human_count(summary.shards.size()), indexed,
                                   entered > 0 ? fmt::format(", {} with seek points", entered) : "")});
  table.add({"size", human_bytes(summary.num_bytes)});
  table.add({"version", summary.version});
  std::vector<std::string> seen;
  if (summary.num_removed + summary.num_labels > 0) {
    seen.push_back(fmt::format("still see {} and {}", plural(summary.num_removed, "removed sample"),
                               plural(summary.num_labels, "old label")));
  }
  if (!summary.layer_fields.empty())
    seen.push_back(fmt::format("do not see values of {}", printable_list(summary.layer_fields)));
  if (!seen.empty()) {
    table.add({"layers", fmt::format("other readers {}, until `bale rewrite` applies them", joined(seen, " and "))});
  }
  if (summary.images.num_unusable() > 0) {
    table.add({"bad images",
               fmt::format("{} incomplete, {} that cannot be decoded{}", human_count(summary.images.num_incomplete),
                           human_count(summary.images.num_undecodable),
                           summary.images.num_above_limit == 0
                               ? std::string()
                               : fmt::format(", {} above the limit of {} pixels",
                                             human_count(summary.images.num_above_limit), summary.images.max_pixels))});
  }
  for (const auto& [name, value] : summary.edits) table.add({"images", printable(name) + ": " + printable(value)});
  if (summary.has_manifest) {
    table.add({"made by", printable(summary.created_by)});
  } else {
    table.add({"manifest", "none: made by another program, or single shards"});
  }
  return table.text();
}

std::string fields_text(const DatasetSummary& summary) {
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::left});
  table.add({"FIELD", "SAMPLES", "STORED", "AVERAGE", "CODEC"});
  for (const DatasetSummary::Field& field : summary.fields) {
    const std::uint64_t average = field.num_samples == 0 ? 0 : field.stored_bytes / field.num_samples;
    table.add({printable(field.name), human_count(field.num_samples), human_bytes(field.stored_bytes),
               human_bytes(average), field.codec});
  }
  return table.text();
}

/// With their numbers if some have no name, as of ids that do not begin at 0.
std::string classes_text(const DatasetSummary& summary) {
  const std::vector<std::string>& classes = summary.classes;
  if (classes.empty()) return "classes  no names\n";
  const auto num_unnamed = static_cast<std::size_t>(std::count(classes.begin(), classes.end(), ""));
  std::string text = fmt::format("classes  {}:", human_count(classes.size()));
  std::size_t num_shown = 0;
  for (std::size_t i = 0; i < classes.size() && num_shown < k_max_classes; ++i) {
    if (classes[i].empty()) continue;
    text += num_shown++ == 0 ? " " : ", ";
    text += (num_unnamed == 0 ? "" : fmt::format("{} ", i)) + printable(classes[i]);
  }
  return text + (classes.size() - num_unnamed > num_shown ? ", ...\n" : "\n");
}

std::string shards_text(const DatasetSummary& summary) {
  TextTable table({Align::left, Align::right, Align::right, Align::left, Align::left});
  table.add({"SHARD", "SAMPLES", "SIZE", "INDEX", "CHECKSUMS"});
  for (std::size_t i = 0; i < std::min(summary.shards.size(), k_max_shards); ++i) {
    const DatasetSummary::ShardRow& shard = summary.shards[i];
    table.add({shown_name(shard.path), human_count(shard.num_samples), human_bytes(shard.bytes),
               shard.indexed ? "yes" : "no", shard.has_checksums ? "yes" : "no"});
  }
  std::string text = table.text();
  if (summary.shards.size() > k_max_shards) {
    text += fmt::format("... and {} more (--json lists all)\n", human_count(summary.shards.size() - k_max_shards));
  }
  return text;
}

}  // namespace

int run_inspect(const InspectCommand& command, Terminal& terminal) {
  const NamedDatasets named = datasets_at(command.spec, terminal);
  std::vector<DatasetSummary> summaries;
  for (const std::string& spec : named.specs) summaries.push_back(summarize_dataset(spec));
  for (const DatasetSummary& summary : summaries) show_notices(summary.notices, "entry", terminal);
  if (command.json) {
    terminal.print(named.is_directory ? summaries_json(command.spec, summaries) : summary_json(summaries.front()));
    return 0;
  }
  for (const DatasetSummary& summary : summaries) {
    if (&summary != &summaries.front()) terminal.print("\n");
    if (named.is_directory) terminal.print(shown_name(summary.spec) + ":\n");
    terminal.print(head_text(summary) + classes_text(summary) + '\n' + fields_text(summary) + '\n' +
                   shards_text(summary));
  }
  return 0;
}

}  // namespace bale::tools
