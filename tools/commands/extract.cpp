#include <fnmatch.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/ascii_case.hpp"
#include "bale/formats/base/json.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset_spec.hpp"
#include "bale/reader/read_ahead.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/commands/safe_directory.hpp"
#include "bale/tools/report/json_document.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/apart.hpp"

namespace bale::tools {
namespace {

bool wanted_key(const ExtractCommand& command, std::string_view key) {
  if (command.include.empty()) return true;
  const std::string text(key);
  return std::any_of(command.include.begin(), command.include.end(),
                     [&](const std::string& glob) { return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0; });
}

bool wanted_field(const ExtractCommand& command, std::string_view field) {
  return command.fields.empty() ||
         std::find(command.fields.begin(), command.fields.end(), field) != command.fields.end();
}

std::vector<std::uint64_t> wanted_samples(const ExtractCommand& command, const Dataset& dataset, const Where& where,
                                          WhereCounts& counts) {
  std::vector<std::uint64_t> wanted = select_samples(dataset, where, counts);
  std::erase_if(wanted, [&](std::uint64_t i) { return !wanted_key(command, dataset.key(i)); });
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

/// Refuses keys, and directories in them, that differ only by case if the file system ignores case: their files would
/// be merged.
void check_names_apart(const Dataset& dataset, const std::vector<std::uint64_t>& wanted,
                       const SafeDirectory& directory) {
  if (wanted.empty() || !directory.ignores_case()) return;
  std::unordered_map<std::string, std::string> names;
  for (const std::uint64_t i : wanted) {
    const std::string stored = dataset.key(i);
    const std::string_view key = without_dot_prefix(stored);
    for (std::size_t end = 0; end < key.size();) {
      end = std::min(key.find('/', end + 1), key.size());
      const std::string_view name = key.substr(0, end);
      const auto [known, is_new] = names.try_emplace(lower_case(name), name);
      if (is_new || known->second == name) continue;
      throw Error(ErrorCode::exists,
                  fmt::format("\"{}\" and \"{}\" are one name there: the file system ignores case",
                              printable(known->second), printable(name)),
                  {.path = directory.path(), .hint = "extract to another file system, or apart with --include"});
    }
  }
}

/// Refuses to extract into a packed directory: its files are those that its manifest lists. Shards without a manifest
/// may be extracted into their own directory, as archives are.
void require_outside_datasets(const ExtractCommand& command) {
  std::vector<std::string> directories;
  for (const DatasetPart& part : resolve_dataset(command.spec).parts) {
    if (!part.manifest_path.empty()) directories.push_back(parent_directory(part.manifest_path));
  }
  require_all_apart(directories, command.directory);
}

}  // namespace

int run_extract(const ExtractCommand& command, Terminal& terminal) {
  const Where where = parse_where(command.where, terminal);
  require_outside_datasets(command);
  const Dataset dataset = open_dataset(command.spec, terminal, command.quiet);
  check_fields(command, dataset);
  if (!command.quiet) show_notices(dataset.notices(), "entry", terminal);
  WhereCounts counts;
  const std::vector<std::uint64_t> wanted = wanted_samples(command, dataset, where, counts);
  SafeDirectory directory(command.directory);
  check_names_apart(dataset, wanted, directory);

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::uint64_t files = 0;
  std::uint64_t kept = 0;
  const auto poll = [&] { return ProgressCounts{.samples = samples, .total_samples = wanted.size(), .bytes = bytes}; };
  const StopOnSignal stop_on_signal(stop);
  ProgressDisplay display(terminal, "extracted", poll, progress_style(command.quiet));
  ReadAhead ahead(dataset, [&](std::uint64_t n) -> std::optional<UpcomingSample> {
    if (n >= wanted.size()) return std::nullopt;
    return UpcomingSample{wanted[n]};
  });
  Scratch scratch;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    throw_if_stopped(stop);
    ahead.consumed(at);
    const SampleView sample = dataset.read(wanted[at], scratch);
    for (const FieldView& field : sample.fields) {
      if (!wanted_field(command, field.name)) continue;
      const std::string name = fmt::format("{}.{}", without_dot_prefix(sample.key), field.name);
      const Written written = directory.write(name, field.bytes, command.force);
      bytes += field.bytes.size();
      ++files;
      if (written == Written::kept) ++kept;
    }
    ++samples;
  }
  display.finish();
  if (command.json) {
    terminal.print(json_document({{"directory", bytes_to_json(command.directory)},
                                  {"samples", samples.load()},
                                  {"files", files},
                                  {"kept", kept},
                                  {"bytes", bytes.load()},
                                  {"left_out", counts.num_left_out}}));
  } else if (!command.quiet) {
    const std::string found = kept == 0 ? "" : fmt::format("; {} were there already", human_count(kept));
    terminal.print(fmt::format("{}: {} of {}, {}{}\n", printable(command.directory), plural(files, "file"),
                               plural(samples, "sample"), human_bytes(bytes), found));
    tell_left_out(counts, terminal);
  }
  return k_exit_ok;
}

}  // namespace bale::tools
