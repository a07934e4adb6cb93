#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

struct Gathered {
  std::map<std::int64_t, std::uint64_t> label_counts;
  std::uint64_t num_unlabeled = 0;
  std::uint64_t num_unindexed = 0;    // without a known size, in shards without an index
  std::vector<std::uint64_t> widths;  // of samples whose size is in the index
  std::vector<std::uint64_t> heights;
  std::vector<std::uint64_t> image_bytes;
};

Gathered gather(const Dataset& dataset) {
  Gathered gathered;
  // Named classes without samples also count: they are part of the imbalance.
  for (std::size_t label = 0; label < dataset.classes().size(); ++label) {
    gathered.label_counts.try_emplace(static_cast<std::int64_t>(label), 0);
  }
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      const std::int64_t label = dataset.label_in_shard(number, i);
      if (label == k_no_label) {
        ++gathered.num_unlabeled;
      } else {
        ++gathered.label_counts[label];
      }
      if (index.width(i) != 0) {
        gathered.widths.push_back(index.width(i));
        gathered.heights.push_back(index.height(i));
      } else if (!index.has_checksums()) {  // it was scanned
        ++gathered.num_unindexed;
      }
      if (const auto field = index.image_field(i)) gathered.image_bytes.push_back(index.extent(i, *field).length);
    }
  }
  return gathered;
}

std::string class_title(const Dataset& dataset, std::int64_t label) {
  const auto& classes = dataset.classes();
  if (label < 0 || static_cast<std::uint64_t>(label) >= classes.size()) return fmt::format("class {}", label);
  return fmt::format("class {} {}", label, printable(classes[static_cast<std::size_t>(label)]));
}

/// Every class with its count; empty if they do not fit on a screen.
std::string class_table(const Dataset& dataset, const std::map<std::int64_t, std::uint64_t>& label_counts) {
  constexpr std::size_t k_max_rows = 30;
  if (label_counts.size() > k_max_rows) return {};
  TextTable table({Align::right, Align::left, Align::right});
  table.add({"LABEL", "CLASS", "SAMPLES"});
  const auto& names = dataset.classes();
  for (const auto& [label, count] : label_counts) {
    const bool named = label >= 0 && static_cast<std::uint64_t>(label) < names.size();
    const std::string name = named ? printable(names[static_cast<std::size_t>(label)]) : "-";
    table.add({fmt::format("{}", label), name, human_count(count)});
  }
  return '\n' + table.text(2);
}

std::string classes_text(const Dataset& dataset, const Gathered& gathered) {
  std::string text = fmt::format("samples  {}\n", human_count(dataset.size()));
  if (gathered.num_unlabeled > 0) text += fmt::format("without a label  {}\n", human_count(gathered.num_unlabeled));
  if (gathered.label_counts.empty()) return text;
  std::vector<std::pair<std::uint64_t, std::int64_t>> counts;
  for (const auto& [label, count] : gathered.label_counts) counts.emplace_back(count, label);
  std::sort(counts.begin(), counts.end());
  const auto& [fewest, fewest_label] = counts.front();
  const auto& [most, most_label] = counts.back();
  text += fmt::format("classes  {}\n", human_count(counts.size()));
  text += fmt::format("samples per class  min {} ({}), median {}, max {} ({})\n", human_count(fewest),
                      class_title(dataset, fewest_label), human_count(counts[counts.size() / 2].first),
                      human_count(most), class_title(dataset, most_label));
  text += fewest == 0 ? std::string("imbalance  some classes have no samples\n")
                      : fmt::format("imbalance  {:.2f} (largest class / smallest)\n",
                                    static_cast<double>(most) / static_cast<double>(fewest));
  return text + class_table(dataset, gathered.label_counts);
}

std::string spread_text(const std::string& title, std::vector<std::uint64_t>& values, Bounds bounds,
                        std::string (*show)(std::uint64_t)) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  std::string text = fmt::format("\n{}  min {}, median {}, max {}\n", title, show(values.front()),
                                 show(values[values.size() / 2]), show(values.back()));
  return text + histogram_text(values, bounds, show);
}

std::string pixels_text(std::uint64_t pixels) { return fmt::format("{}", pixels); }

std::string stats_text(const Dataset& dataset, Gathered& gathered) {
  std::string text = classes_text(dataset, gathered);
  const std::uint64_t num_measured = gathered.widths.size();
  text += spread_text("image width", gathered.widths, Bounds::decimal, pixels_text);
  text += spread_text("image height", gathered.heights, Bounds::decimal, pixels_text);
  text += spread_text("image size", gathered.image_bytes, Bounds::binary, human_bytes);
  const std::uint64_t num_unknown = dataset.size() - num_measured - gathered.num_unindexed;
  if (gathered.num_unindexed > 0) {
    text += fmt::format("\nwidth and height of {} are not known; `bale index` finds those of images\n",
                        plural(gathered.num_unindexed, "sample"));
  }
  if (num_unknown > 0) {
    text += fmt::format(
        "\nwidth and height of {} are not known: no image, or one whose header was not read when the "
        "index was made (`bale index --force` reads it again)\n",
        plural(num_unknown, "sample"));
  }
  return text;
}

Json spread_json(std::vector<std::uint64_t>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {{"min", values.front()}, {"median", values[values.size() / 2]}, {"max", values.back()}};
}

Json stats_json(const std::string& spec, const Dataset& dataset, Gathered& gathered) {
  Json classes = Json::array();
  for (const auto& [label, count] : gathered.label_counts) {
    const bool named = label >= 0 && static_cast<std::uint64_t>(label) < dataset.classes().size();
    const Json name = named ? bytes_to_json(dataset.classes()[static_cast<std::size_t>(label)]) : Json();
    classes.push_back({{"label", label}, {"name", name}, {"samples", count}});
  }
  return {{"spec", bytes_to_json(shown_name(spec))},
          {"samples", dataset.size()},
          {"unlabeled", gathered.num_unlabeled},
          {"unmeasured", dataset.size() - gathered.widths.size()},
          {"classes", classes},
          {"width", spread_json(gathered.widths)},
          {"height", spread_json(gathered.heights)},
          {"image_bytes", spread_json(gathered.image_bytes)}};
}

}  // namespace

int run_stats(const StatsCommand& command, Terminal& terminal) {
  const NamedDatasets named = datasets_at(command.spec, terminal);
  Json all = Json::array();
  for (const std::string& part : named.specs) {
    const Dataset dataset = open_dataset(part, terminal);
    show_notices(dataset.notices(), "entry", terminal);
    Gathered gathered = gather(dataset);
    if (command.json) {
      all.push_back(stats_json(part, dataset, gathered));
      continue;
    }
    if (named.is_directory)
      terminal.print(fmt::format("{}{}:\n", part == named.specs.front() ? "" : "\n", shown_name(part)));
    terminal.print(stats_text(dataset, gathered));
  }
  if (command.json && !named.is_directory) terminal.print(json_document(all.as_list("parts").front()));
  if (command.json && named.is_directory) {
    terminal.print(json_document({{"spec", bytes_to_json(shown_name(command.spec))}, {"parts", all}}));
  }
  return 0;
}

}  // namespace bale::tools
