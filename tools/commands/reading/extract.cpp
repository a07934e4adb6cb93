#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/names_apart.hpp"
#include "bale/reader/read_ahead.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/commands/reading/extracted_names.hpp"
#include "bale/tools/commands/reading/safe_directory.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/attended.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/destination/overlap.hpp"
#include "bale/writer/source/folder/name_filter.hpp"

namespace bale::tools {
namespace {

bool wanted_field(const ExtractCommand& command, std::string_view field) {
  return command.fields.empty() ||
         std::find(command.fields.begin(), command.fields.end(), field) != command.fields.end();
}

/// A pattern is compared with the key, as `bale ls` prints it, and with the key that distinguishes it.
std::vector<std::uint64_t> wanted_samples(const ExtractCommand& command, const Dataset& dataset, const SampleKeys& keys,
                                          const Where& where, WhereCounts& counts, NoticeLog& ledger) {
  std::vector<std::uint64_t> wanted = select_samples(dataset, where, counts);
  if (command.include.empty()) return wanted;
  NameFilter filter(command.include, {});
  const auto own_key = [&](std::uint64_t i, const std::string& key) {
    return keys.are_told_apart() ? keys.name(dataset.position(i).first, key) : key;
  };
  for (const std::uint64_t i : wanted) {
    const std::string key = dataset.key(i);
    filter.see_key(key);
    filter.see_key(own_key(i, key));
  }
  std::erase_if(wanted, [&](std::uint64_t i) {
    const std::string key = dataset.key(i);
    return !filter.takes(key) && !filter.takes(own_key(i, key));
  });
  filter.tell_unmatched(ledger, command.spec);
  return wanted;
}

void check_fields(const ExtractCommand& command, const Dataset& dataset) {
  for (const std::string& field : command.fields) {
    const auto& known = dataset.fields();
    if (std::find(known.begin(), known.end(), field) != known.end()) continue;
    throw Error(ErrorCode::not_found, fmt::format("no sample has a field \"{}\"", printable(field)),
                {.path = command.spec,
                 .hint = fmt::format("choose among: {}", printable(fmt::format("{}", fmt::join(known, ", "))))});
  }
}

void print_renamed(const ExtractedNames& names, const SampleKeys& keys, Terminal& terminal) {
  if (keys.are_told_apart()) terminal.note("shards repeat keys: files are in folders with the names of their shards");
  if (names.num_stripped() == 0) return;
  terminal.note(fmt::format("{}: what leads outside the directory is stripped (such as \"{}\")",
                            plural(names.num_stripped(), "key"), excerpt(printed_key(names.first_stripped()), 256)));
}

/// Refuses to extract into a packed directory: its files are those that its manifest lists. Shards without a manifest
/// may be extracted into their own directory, as archives are.
void require_outside_datasets(const ExtractCommand& command) {
  std::vector<std::string> directories;
  for (const DatasetPart& part : resolve_dataset(command.spec).parts) {
    if (!part.manifest_path.empty()) directories.push_back(part.directory);
  }
  require_no_overlap(directories, command.directory);
}

}  // namespace

int run_extract(const ExtractCommand& command, Terminal& terminal) {
  const Where where = parse_where(command.where, terminal);
  require_outside_datasets(command);
  const Dataset dataset = open_dataset(command.spec, terminal, command.quiet);
  check_fields(command, dataset);
  WhereCounts counts;
  const SampleKeys keys(dataset);
  NoticeLog ledger = dataset.notices();
  const std::vector<std::uint64_t> wanted = wanted_samples(command, dataset, keys, where, counts, ledger);
  show_notices(ledger, "entry", terminal);
  show_lines(left_out_lines(counts), terminal);
  if (command.strict) require_all_taken(ledger, "entry");
  const auto takes = [&](std::string_view field) { return wanted_field(command, field); };
  SafeDirectory directory(command.directory);
  const ExtractedNames names(dataset, keys, wanted, takes, directory);
  print_renamed(names, keys, terminal);

  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::uint64_t kept = 0;
  const auto write_all = [&](Progress& progress) {
    progress.total_samples = wanted.size();
    ReadAhead ahead(dataset, [&](std::uint64_t n) -> std::optional<UpcomingSample> {
      if (n >= wanted.size()) return std::nullopt;
      return UpcomingSample{wanted[n]};
    });
    Scratch scratch;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      progress.throw_if_stopped();
      ahead.consumed(at);
      const SampleView sample = dataset.read(wanted[at], scratch);
      for (const FieldView& field : sample.fields) {
        if (!takes(field.name)) continue;
        const Written written = directory.write(names.path(wanted[at], field.name), field.bytes, command.force);
        bytes += field.bytes.size();
        progress.bytes = bytes;
        ++files;
        if (written == Written::kept) ++kept;
      }
      ++progress.samples;
    }
    return wanted.size();
  };
  const std::uint64_t samples = run_attended("extracted", progress_style(command.quiet), terminal, write_all);
  if (command.json) {
    terminal.print(json_document({{"directory", bytes_to_json(command.directory)},
                                  {"samples", samples},
                                  {"files", files},
                                  {"kept", kept},
                                  {"bytes", bytes},
                                  {"left_out", counts.num_left_out},
                                  {"notices", notices_json(ledger)}}));
  } else if (!command.quiet) {
    const std::string found = kept == 0 ? "" : fmt::format("; {} were there already", human_count(kept));
    terminal.print(fmt::format("{}: {} of {}, {}{}\n", shown_name(command.directory), plural(files, "file"),
                               plural(samples, "sample"), human_bytes(bytes), found));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
