#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/error_reason.hpp"
#include "bale/formats/base/local_name.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/report/json_output.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"
#include "bale/writer/destination.hpp"

namespace bale::tools {
namespace {

Error usage_error(const PackCommand& command, std::string_view message) {
  return Error(ErrorCode::invalid_argument, message, {.hint = fmt::format("see `bale {} --help`", command.command)});
}

/// With --files-from the only positional argument is the destination.
PackCommand with_places_settled(PackCommand command) {
  if (command.files_from.empty()) {
    if (command.source.empty()) throw usage_error(command, "SRC and DST are needed");
    if (command.options.destination.empty()) throw usage_error(command, "DST is needed");
    return command;
  }
  if (!command.options.destination.empty()) throw usage_error(command, "SRC and --files-from exclude each other");
  if (command.source.empty()) throw usage_error(command, "DST is needed");
  command.options.destination = std::exchange(command.source, {});
  return command;
}

/// The source's name if it is fit for file names, else the destination's, else "data".
std::string default_name(const PackCommand& command) {
  const bool is_list = !command.files_from.empty();
  for (const std::string& path : {is_list ? std::string{} : command.source, command.options.destination}) {
    std::string name = base_name(path);
    name.resize(std::min(name.find('.', 1), name.size()));
    const bool plain = !name.empty() && name[0] != '.' && name[0] != '/' && printable(name) == name &&
                       name.find_first_of("*?[]{}:") == std::string::npos;
    if (plain) return name;
  }
  return "data";
}

std::unique_ptr<Source> open_source_of(const PackCommand& command, Terminal& terminal) {
  const SourceOptions& options = command.source_options;
  if (!command.files_from.empty()) {
    if (!options.kind.empty()) throw usage_error(command, "--source and --files-from exclude each other");
    return open_list_source(command.files_from, options);
  }
  if (command.source_is_packed) return open_packed_source(command.source, options);
  if (options.kind.empty()) {
    const DetectedSource detected = detect_source(command.source, options);
    if (!detected.told.empty() && !command.quiet) {
      terminal.note(fmt::format("{}: {}", printable(command.source), terminal.with_flags(detected.told)));
    }
  }
  return open_source(command.source, options);
}

std::uint64_t num_skipped(const PackReport& report) {
  std::uint64_t skipped = 0;
  for (const PackReport::Output& output : report.outputs) skipped += output.manifest.num_skipped;
  return std::max<std::uint64_t>(skipped, report.skipped.size());
}

void tell_skips(const PackReport& report, Terminal& terminal) {
  constexpr std::size_t k_max_listed = 10;
  for (std::size_t i = 0; i < std::min(report.skipped.size(), k_max_listed); ++i) {
    const std::string origin = printable(report.skipped[i].origin);
    const std::string why = terminal.with_flags(printable(report.skipped[i].why));
    terminal.note(why.starts_with(origin) ? "skipped " + why : fmt::format("skipped {}: {}", origin, why));
  }
  if (report.skipped.size() > k_max_listed) {
    terminal.note(fmt::format("skipped {} more", plural(report.skipped.size() - k_max_listed, "sample")));
  }
  std::string ledgers;
  for (const PackReport::Output& output : report.outputs) {
    if (output.manifest.num_skipped == 0) continue;
    ledgers += (ledgers.empty() ? "" : ", ") + printable(join_path(output.directory, k_ledger_name));
  }
  terminal.error(fmt::format("{} skipped; {} lists them", plural(num_skipped(report), "sample"), ledgers));
}

/// The conditions of all images in the outputs, including those that an earlier run wrote.
ImageConditions conditions_of(const PackReport& report) {
  ImageConditions all;
  for (const PackReport::Output& output : report.outputs) {
    const Dataset dataset = Dataset::open(join_path(output.directory, k_manifest_name));
    const ImageConditions one = image_conditions(dataset, k_max_named_images - all.flawed.size());
    all.num_complete += one.num_complete;
    all.num_incomplete += one.num_incomplete;
    all.num_undecodable += one.num_undecodable;
    all.num_unknown += one.num_unknown;
    all.flawed.insert(all.flawed.end(), one.flawed.begin(), one.flawed.end());
  }
  return all;
}

/// Prints one line if packed images are of kinds that the loader does not decode.
void tell_undecodable(const PackReport& report, Terminal& terminal) {
  std::uint64_t total = 0;
  std::string kinds;
  for (const auto& [kind, count] : report.undecodable) {
    total += count;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", human_count(count), kind);
  }
  if (total > 0) {
    terminal.note(fmt::format("{} packed that bale's loader does not decode: {}", plural(total, "image"), kinds));
  }
}

std::string summary_text(const PackReport& report, double seconds) {
  std::string text;
  for (const PackReport::Output& output : report.outputs) {
    const Manifest& manifest = output.manifest;
    std::uint64_t bytes = 0;
    for (const ManifestShard& shard : manifest.shards) bytes += shard.bytes;
    text += fmt::format("{}: {}", printable(output.directory), plural(manifest.num_samples, "sample"));
    if (!manifest.classes.empty()) text += fmt::format(" of {}", plural(manifest.classes.size(), "class"));
    text += fmt::format(" in {}, {} ({}.{})\n", plural(manifest.shards.size(), "shard"), human_bytes(bytes),
                        manifest.format, manifest.layout);
  }
  text += human_seconds(seconds);
  if (report.num_repaired_shards > 0) {
    text += fmt::format(", {} found missing or damaged and written again", plural(report.num_repaired_shards, "shard"));
  }
  if (report.num_resumed_shards > 0) {
    text += fmt::format(", {} found finished", plural(report.num_resumed_shards, "shard"));
  } else if (seconds > 0) {
    text += fmt::format(", {} img/s, {:.0f} MB/s",
                        human_count(static_cast<std::uint64_t>(static_cast<double>(report.num_samples) / seconds)),
                        static_cast<double>(report.num_bytes) / seconds / 1e6);
  }
  return text + '\n';
}

void print_preview(const PackCommand& command, const PackPreview& preview, Terminal& terminal) {
  if (command.json) {
    terminal.print(preview_json(preview));
    return;
  }
  TextTable table({Align::left, Align::right, Align::right});
  table.add({"SHARD", "SAMPLES", "PAYLOAD"});
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  for (const PackPreview::ShardRow& row : preview.shards) {
    table.add({printable(row.file), human_count(row.num_samples), human_bytes(row.payload_bytes)});
    samples += row.num_samples;
    bytes += row.payload_bytes;
  }
  terminal.print(table.text());
  terminal.print(fmt::format("{} in {}, {} of payload; nothing was written\n", plural(samples, "sample"),
                             plural(preview.shards.size(), "shard"), human_bytes(bytes)));
}

/// Prints one line per replaced dataset.
void tell_replaced(const PackReport& report, Terminal& terminal) {
  for (const PackReport::Replaced& replaced : report.replaced) {
    terminal.note(fmt::format("replaced the dataset \"{}\" of {} in {}", printable(replaced.name),
                              plural(replaced.num_samples, "sample"), printable(replaced.directory)));
  }
}

/// Packs and shows progress. A signal stops the run.
PackReport pack_attended(const PackCommand& command, const Source& source, Terminal& terminal) {
  Progress progress;
  try {
    const StopOnSignal stop(progress.stop);
    ProgressDisplay display(
        terminal, "packed", [&] { return counts_of(progress); }, progress_style(command.quiet, command.json_progress));
    PackReport report = pack(source, command.options, progress);
    display.finish();
    return report;
  } catch (const Error& error) {
    if (error.context().hint == k_no_space_hint) {
      ErrorContext context = error.context();
      context.hint = "free some space, then run the same command with --resume to go on";
      throw Error(error.code(), error.message(), std::move(context));
    }
    if (error.code() != ErrorCode::interrupted) throw;
    const std::string done = fmt::format("interrupted with {} of {} written", human_count(progress.shards),
                                         plural(progress.total_shards, "shard"));
    throw Error(error.code(), done,
                {.path = command.options.destination, .hint = "run the same command with --resume to go on"});
  }
}

}  // namespace

int run_pack(const PackCommand& asked, Terminal& terminal) {
  PackCommand command = with_places_settled(asked);
  const Where where = parse_where(command.where, terminal);
  require_local_name(command.options.destination, NameUse::writing);  // before the source is listed
  if (command.format.empty()) command.format = formats()[0]->name;
  const auto find = command.decode ? find_decoded_format : find_format;
  command.options.format = find(command.format, command.layout);
  command.options.default_name = default_name(command);
  command.source_options.keys_name_files = command.options.format.layout->keys_name_files;
  command.source_options.skip_damaged = command.options.on_error != OnError::fail;

  const auto start = std::chrono::steady_clock::now();
  if (!command.quiet)
    terminal.set_status("listing " + printable(command.source.empty() ? command.files_from : command.source));
  WhereCounts counts;
  const std::unique_ptr<Source> source =
      filter_source(open_source_of(command, terminal), where, command.options.jobs, counts);
  terminal.clear_status();
  if (!command.quiet) show_notices(source->notices(), command.source_is_packed ? "entry" : "path", terminal);
  if (!command.quiet) tell_left_out(counts, terminal);
  if (command.dry_run) {
    print_preview(command, preview_pack(*source, command.options), terminal);
    return k_exit_ok;
  }

  const PackReport report = pack_attended(command, *source, terminal);
  const ImageConditions conditions = conditions_of(report);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!command.quiet) tell_replaced(report, terminal);
  if (command.json) {
    terminal.print(pack_json(report, seconds, source->notices(), conditions, counts));
  } else if (!command.quiet) {
    terminal.print(summary_text(report, seconds));
  }
  if (!command.quiet) show_flawed_images(conditions, terminal);
  if (!command.quiet) tell_undecodable(report, terminal);
  if (num_skipped(report) == 0) return k_exit_ok;
  terminal.flush();
  tell_skips(report, terminal);
  return k_exit_skipped;
}

}  // namespace bale::tools
