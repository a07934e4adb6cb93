// The options of packing: `bale pack`, `convert` and `plan`, and Python's functions of these names.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/source/choose/source_table.hpp"

namespace bale {

/// Rows compare their values with what they were.
inline bool operator==(const Split& a, const Split& b) { return a.name == b.name && a.fraction == b.fraction; }

namespace {

/// "A|B|C": the formats that bale writes, in the order of the registry.
std::string format_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : formats()) {
    if (!format->layouts.empty()) names.push_back(format->name);
  }
  return joined(names, "|");
}

/// The layouts of all formats in the same form, each name once.
std::string layout_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) {
      if (std::find(names.begin(), names.end(), layout.name) == names.end()) names.push_back(layout.name);
    }
  }
  return joined(names, "|");
}

/// "train=0.95,val=0.05": names fit for a directory, fractions above 0 that sum to 1.
std::vector<Split> parse_splits(std::string_view option, std::string_view text) {
  constexpr std::string_view k_accepted = "a list such as train=0.95,val=0.05 whose fractions sum to 1";
  std::vector<Split> splits;
  double sum = 0;
  for (const std::string& part : parse_list(option, text)) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) refuse_value(option, text, k_accepted);
    Split split{part.substr(0, equals), 0};
    const char* begin = part.data() + equals + 1;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(begin, end, split.fraction);
    if (error != std::errc{} || stop != end || !(split.fraction > 0) || split.fraction > 1) {
      refuse_value(option, text, k_accepted);
    }
    if (split.name.starts_with('.') || split.name.find('/') != std::string::npos || split.name == k_manifest_name) {
      refuse_value(option, split.name, "a name for a directory");
    }
    const auto same_name = [&](const Split& other) { return other.name == split.name; };
    if (std::any_of(splits.begin(), splits.end(), same_name)) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is named twice", option, printable(split.name)));
    }
    sum += split.fraction;
    splits.push_back(std::move(split));
  }
  if (std::abs(sum - 1) > 1e-6) refuse_value(option, text, k_accepted);
  return splits;
}

/// "1000", or "5%", "0.5%": more than 0 and at most 100%. Sets `count` or `fraction`.
void parse_sample(std::string_view option, std::string_view text, SampleDraw& out) {
  if (!text.ends_with('%')) {
    out.count = parse_positive(option, text);
    return;
  }
  double percent = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || !(percent > 0) || percent > 100) {
    refuse_value(option, text, "a number of samples, or a part above 0% and up to 100%, such as 5%");
  }
  out.fraction = percent / 100;
}

/// "0/16" to "15/16".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part(std::string_view option, std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto part = whole_number<std::uint64_t>(text.substr(0, slash));
  const auto parts = whole_number<std::uint64_t>(text.substr(std::min(slash + 1, text.size())));
  if (!part || !parts || *part >= *parts) refuse_value(option, text, "I/N with I from 0 to N-1, such as 0/16 to 15/16");
  return std::pair(*part, *parts);
}

/// "3,17,20..25": numbers, and ranges with both ends.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(std::string_view option, std::string_view text) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const std::string& part : parse_list(option, text)) {
    const std::size_t dots = std::min(part.find(".."), part.size());
    const auto first = whole_number<std::uint64_t>(std::string_view(part).substr(0, dots));
    const auto last =
        dots == part.size() ? first : whole_number<std::uint64_t>(std::string_view(part).substr(dots + 2));
    if (!first || !last || *first > *last) refuse_value(option, text, "a list of numbers such as 3,17,20..25");
    ranges.emplace_back(*first, *last);
  }
  return ranges;
}

void declare_format(PackRequest& request, OptionTable& table) {
  add_text(table, "f,format", format_choices(), request.format,
           fmt::format("Format of the shards, or FORMAT.LAYOUT (default: {}); see `bale formats`", formats()[0]->name));
  add_text(table, "layout", layout_choices(), request.layout, "Layout within the format (default: its first)");
  add_format_options(table, request.options);
}

void declare_sizing(PackRequest& request, OptionTable& table) {
  PackOptions& options = request.options;
  OptionModel& by_bytes =
      add_parsed(table, "shard_size", "SIZE", options.sizing.shard_bytes, parse_size,
                 "Start a new shard when its fields would be more bytes than this, as they are in the source "
                 "and without what the container adds (default: 256MiB); "
                 "KiB, MiB, GiB are powers of 1024, KB, MB, GB of 1000")
          .typed("Size");
  OptionModel& by_count = add_parsed(table, "shard_count", "N", options.sizing.shard_count, parse_positive,
                                     "Write this many shards of about equal size");
  OptionModel& by_samples = add_parsed(table, "shard_samples", "N", options.sizing.shard_samples, parse_positive,
                                       "Write this many samples to a shard");
  by_bytes.excludes(by_count).excludes(by_samples);
  by_count.excludes(by_samples);
  add_parsed(table, "shuffle", "SEED", options.shuffle_seed, parse_whole,
             "Shuffle the samples; the same seed gives the same order");
}

void declare_shards(PackRequest& request, OptionTable& table) {
  PackOptions& options = request.options;
  add_text(table, "name", "NAME", options.name,
           "Name of the dataset and prefix of its shards (default: that of SRC, or of DST if SRC is a list)");
  declare_sizing(request, table);
  OptionModel& split = add_parsed(table, "split", "NAME=F,...", options.splits, parse_splits,
                                  "Write one dataset per part to DST/NAME, such as train=0.95,val=0.05");
  add_flag(table, "stratify", options.stratify, "Split every class by the same fractions").needs(split);
}

void declare_list(PackRequest& request, OptionTable& table) {
  add_text(table, "files_from", "FILE", request.files_from,
           "Read paths to pack from a file, one per line; '-' is standard input");
  add_list_options(table, request.source_options);
  table.back().needs(table[table.size() - 2]);
}

void declare_samples(PackRequest& request, OptionTable& table) {
  PackOptions& options = request.options;
  add_source_options(table, request.source_options, request.source_is_packed ? SourceUse::packed : SourceUse::any);
  if (!request.source_is_packed) declare_list(request, table);
  add_text(table, "exclude_from", "FILE", request.exclude_from,
           "Leave out the samples that FILE names, one per line or ended by NUL: paths below SRC, keys as `bale ls` "
           "prints them, or directories");
  add_where(table, request.where);
  OptionModel& sample =
      add_parsed(
          table, "sample", "N|P%",
          [&](const std::string& option, const std::string& text) { parse_sample(option, text, request.draw); },
          "Only this many samples, or this part of them, such as 1000 or 5%, drawn at random by their keys: the same "
          "samples from any format and order, and a part of a larger draw")
          .typed("Union[int, str]");
  add_flag(table, "sample_per_class", request.draw.per_class, "Draw this many samples, or this part, of each class")
      .needs(sample);
  add_parsed(table, "sample_seed", "SEED", request.draw.seed, parse_whole, "Seed of the random selection (default: 0)")
      .needs(sample);
  add_parsed(table, "max_samples", "N", options.max_samples, parse_positive, "Stop after this many");
  request.command == "add" ? add_on_error(table, options) : add_shard_options(table, options);
}

void declare_checks(PackRequest& request, OptionTable& table) { add_image_checks(table, request.options); }

void declare_stored(PackRequest& request, OptionTable& table) { add_format_options(table, request.options); }

void declare_images(PackRequest& request, OptionTable& table) {
  add_image_options(table, request.options);
  add_flag(table, "decode", request.decode,
           "Store images as pixels: the format's layout that holds them, unless `layout` names one");
}

void declare_run(PackRequest& request, OptionTable& table) {
  PackOptions& options = request.options;
  add_jobs(table, options.jobs, "Shards to write in parallel (default: two per core); does not change the result");
  add_text(
      table, "staging_dir", "DIR", options.staging_directory,
      "If DST is an s3:// name: local directory in which shards are built before they are uploaded, with room for one "
      "per job (default: TMPDIR or /tmp)");
  OptionModel& resume = add_flag(
      table, "resume", [&] { options.mode = DestinationMode::resume; },
      "Continue an interrupted run of the same command");
  add_flag(
      table, "overwrite", [&] { options.mode = DestinationMode::overwrite; },
      "Replace the dataset in DST, if it has the same name: it stays until the new one is complete, so there must be "
      "room "
      "for both (in an object store its manifest is removed first); files that bale did not write stay, and so does "
      "quarantine/")
      .excludes(resume);
  add_flag(
      table, "n,dry_run", request.dry_run,
      "Print the shards that would be written, with the bytes of their fields, and write nothing; refuses what the run "
      "would refuse");
  add_strict(table, request.strict);
}

/// Of adding to a dataset.
void declare_add_run(PackRequest& request, OptionTable& table) {
  PackOptions& options = request.options;
  add_flag(table, "skip_existing", request.add.skip_existing,
           "Leave out samples that the dataset has: the same key, label and bytes. The same key with other bytes is an "
           "error");
  add_flag(table, "allow_removed", request.add.allow_removed,
           "Take samples that `bale remove` removed, by their keys or images; else they are an error");
  add_message(table, options.change_message);
  add_jobs(table, options.jobs, "Shards to write in parallel (default: two per core); does not change the result");
  OptionModel& resume = add_flag(
      table, "resume", [&] { options.mode = DestinationMode::resume; },
      "Continue an interrupted run of the same command");
  add_flag(
      table, "restart", [&] { options.mode = DestinationMode::overwrite; },
      "Drop what an interrupted run left, and begin again; the dataset stays")
      .excludes(resume);
  add_flag(table, "n,dry_run", request.dry_run,
           "Print the shards that would be written, with the bytes of their fields, and write nothing");
  add_strict(table, request.strict);
}

/// Of a plan, whose parts are run elsewhere.
void declare_plan_run(PackRequest& request, OptionTable& table) {
  add_jobs(table, request.options.jobs, "Threads that examine images for `where` (default: one per core)");
  add_flag(table, "n,dry_run", request.dry_run, "Print the shards that would be planned, and write nothing");
  add_strict(table, request.strict);
}

void add_group(PackRequest& request, OptionTable& table, const char* title,
               void (*declare)(PackRequest&, OptionTable&)) {
  const std::size_t begin = table.size();
  declare(request, table);
  set_group(table, begin, title);
}

}  // namespace

void add_pack_options(OptionTable& table, PackRequest& request) {
  if (request.command == "add") {
    add_group(request, table, "Samples", declare_samples);
    add_group(request, table, "Shards", declare_sizing);
    add_group(request, table, "Format", declare_stored);
    add_group(request, table, "Images", declare_checks);
    return;
  }
  add_group(request, table, "Format", declare_format);
  add_group(request, table, "Shards", declare_shards);
  add_group(request, table, "Samples", declare_samples);
  add_group(request, table, "Images", declare_images);
}

void add_run_options(OptionTable& table, PackRequest& request) {
  add_group(request, table, k_run_group,
            request.command == "plan"  ? declare_plan_run
            : request.command == "add" ? declare_add_run
                                       : declare_run);
}

void add_part_options(OptionTable& table, PartChoice& choice) {
  OptionModel& part = add_parsed(table, "part", "I/N", choice.part, parse_part,
                                 "Part I of N of the plan's shards, counted from 0: 0/16 to 15/16");
  add_parsed(table, "shards", "LIST", choice.shards, parse_ranges,
             "These shards of the plan, counted from 0, such as 3,17,20..25")
      .excludes(part);
}

void add_where(OptionTable& table, std::string& condition) {
  add_parsed(
      table, "where", "CONDITION",
      [&condition](const std::string& option, const std::string& typed) {
        require_value(option, typed);
        condition = typed;
      },
      "Only samples for which the condition holds, such as \"width >= 256 and label in (3, 5)\"; names: " +
          where_names());
}

}  // namespace bale
