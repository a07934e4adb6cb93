#include <fmt/format.h>

#include "bale/formats/base/text/key_text.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/notices.hpp"

namespace bale::tools {
namespace {

SampleRow row_of(const Dataset& dataset, std::size_t shard, std::uint64_t position, std::uint64_t sample) {
  const IndexInUse held = dataset.use_index(shard);
  const ShardIndex& index = *held;
  SampleRow row{.index = position,
                .key = std::string(index.key(sample)),
                .label = dataset.label_in_shard(shard, sample),
                .width = index.width(sample),
                .height = index.height(sample),
                .shard = dataset.shard_path(shard)};
  const auto& classes = dataset.classes();
  if (row.label >= 0 && static_cast<std::uint64_t>(row.label) < classes.size()) {
    row.class_name = classes[static_cast<std::size_t>(row.label)];
  }
  for (const auto& [f, extent] : index.row(sample)) row.fields.push_back({index.fields()[f].name, extent.length});
  return row;
}

/// "      12    3   500x375  jpg=91244 cls=1  KEY"
std::string long_line(const SampleRow& row) {
  const std::string label = row.label == k_no_label ? "-" : fmt::format("{}", row.label);
  const std::string size = row.width == 0 ? "-" : fmt::format("{}x{}", row.width, row.height);
  std::string fields;
  for (const SampleRow::Field& field : row.fields) {
    fields += fmt::format("{}{}={}", fields.empty() ? "" : " ", printable(field.name), field.bytes);
  }
  return fmt::format("{:>8} {:>5} {:>10}  {:<20}  ", row.index, label, size, fields);
}

}  // namespace

int run_ls(const LsCommand& command, Terminal& terminal) {
  const Where where = parse_where(command.where, terminal);
  ScanNotice notice(terminal, false);
  const Dataset dataset = Dataset::open(
      command.spec, {.relative_names = true, .counting = Counting::while_listed, .on_scan = notice.shower()});
  require_fields(where, command.where, dataset, terminal);
  WhereCounts counts;
  GlobUse globs(command.where);
  SampleFacts facts;
  std::uint64_t position = 0;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    if (number == dataset.num_counted_shards()) terminal.flush();  // what is known before the next shard is scanned
    dataset.count_beyond(position);
    const IndexInUse held = dataset.use_index(number);
    const ShardIndex& index = *held;
    for (std::uint64_t sample = 0; sample < index.size(); ++sample, ++position) {
      if (command.where.given()) {
        facts_of(dataset, number, sample, position, facts);
        globs.see(facts);
        if (!where.takes(facts, counts)) continue;
      }
      const std::string_view key = index.key(sample);
      if (command.json) {
        terminal.print(sample_json(row_of(dataset, number, position, sample)));
        continue;
      }
      std::string line = command.long_lines ? long_line(row_of(dataset, number, position, sample)) : std::string{};
      if (command.null_ended) {
        line.append(key).push_back('\0');
      } else {
        line.append(printed_key(key)).push_back('\n');
      }
      terminal.print(line);
    }
  }
  notice.finish();
  NoticeLog notices = dataset.notices();
  globs.note_unmatched(notices, command.spec);
  show_notices(notices, "entry", terminal);
  show_lines(where_lines(counts), terminal);
  return 0;
}

}  // namespace bale::tools
