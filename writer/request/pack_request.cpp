#include "bale/writer/request/pack_request.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/reader/check/notice_lines.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/reader/where.hpp"

namespace bale {
namespace {

Error usage_error(const PackRequest& request, std::string_view message) {
  return Error(ErrorCode::invalid_argument, message, {.hint = fmt::format("see `bale {} --help`", request.command)});
}

/// With files_from the only positional argument is the destination.
PackRequest with_places_settled(PackRequest request) {
  if (request.command == "add") {
    if (request.source.empty() == request.files_from.empty()) {
      throw usage_error(request, request.source.empty() ? "NEW is needed" : "NEW and `files_from` exclude each other");
    }
    return request;
  }
  if (request.files_from.empty()) {
    if (request.source.empty()) throw usage_error(request, "SRC and DST are needed");
    if (request.options.destination.empty()) throw usage_error(request, "DST is needed");
    return request;
  }
  if (!request.options.destination.empty()) throw usage_error(request, "SRC and `files_from` exclude each other");
  if (request.source.empty()) throw usage_error(request, "DST is needed");
  request.options.destination = std::exchange(request.source, {});
  return request;
}

/// The source's name if it is fit for file names, else the destination's, else "data".
std::string default_name(const PackRequest& request) {
  const bool is_list = !request.files_from.empty();
  for (const std::string& path : {is_list ? std::string{} : request.source, request.options.destination}) {
    std::string name = base_name(path);
    name.resize(std::min(name.find('.', 1), name.size()));
    const bool plain = !name.empty() && name[0] != '.' && name[0] != '/' && printable(name) == name &&
                       name.find_first_of("*?[]{}:") == std::string::npos;
    if (plain) return name;
  }
  return "data";
}

std::unique_ptr<Source> open_source_of(const PackRequest& request, const RunNotes& notes) {
  const SourceOptions& options = request.source_options;
  if (!request.files_from.empty()) {
    if (!options.kind.empty()) throw usage_error(request, "`source` and `files_from` exclude each other");
    if (!options.annotations.empty()) throw usage_error(request, "`annotations` and `files_from` exclude each other");
    return open_list_source(request.files_from, options);
  }
  if (request.source_is_packed) return open_packed_source(request.source, options);
  return open_source(request.source, options, [&](const std::string& note) {
    notes.note(fmt::format("{}: {}", shown_name(request.source), notes.options.shown(note)));
  });
}

/// Names of the list that are of no sample are warnings.
void note_excluded(const std::string& list, const ExcludeCounts& counts, NoticeLog& ledger, const RunNotes& notes) {
  if (list.empty()) return;
  if (counts.num_unmatched == 0) {
    notes.note(fmt::format("{}: {} excluded", shown_name(list), plural(counts.num_excluded, "sample")));
    return;
  }
  ledger.no_matches(counts.num_unmatched,
                    fmt::format("{} excluded, {} of {} no sample here, the first: {}",
                                plural(counts.num_excluded, "sample"), human_count(counts.num_unmatched),
                                plural(counts.num_names, "name") + (counts.num_unmatched == 1 ? " is of" : " are of"),
                                excerpt(printable(counts.first_unmatched), 256)),
                    list);
}

/// Options of packing that this source, or what is made of it, does not use; and samples that have no label next to
/// others that do.
void note_unused(const PackRequest& request, const Source& source, NoticeLog& ledger) {
  std::uint64_t num_unlabeled = 0;
  for (std::uint64_t i = 0; i < source.size(); ++i) num_unlabeled += source.label(i) == k_no_label ? 1 : 0;
  const std::string& place = request.source.empty() ? request.files_from : request.source;
  const auto note = [&](bool is_unused, std::string_view option, std::string_view why) {
    if (is_unused) ledger.no_effect(option, why, place);
  };
  const PackOptions& options = request.options;
  const bool is_unlabeled = num_unlabeled == source.size();
  note(options.stratify && is_unlabeled, "stratify", "the samples have no labels");
  note(request.draw.per_class && is_unlabeled, "sample_per_class", "the samples have no labels");
  note(!options.staging_directory.empty() && !is_object_store(options.destination), "staging_dir",
       "the destination is a local directory");
  if (const auto line = unlabeled_line(num_unlabeled, source.size())) {
    NoticeLog remark;
    remark.warn(*line);
    ledger.merge(remark, place);
  }
}

/// What the source removed would come back by adding to what is made of it.
void note_removals(const PackRequest& request, const Source& source, NoticeLog& ledger) {
  if (request.command == "add") return;
  for (const std::string& place : source.places()) {
    if (!is_packed_dataset(place)) continue;
    std::uint64_t count = 0;
    for (const ManifestRemovals& list : load_manifest(join_path(place, k_manifest_name)).removals)
      count += list.num_samples;
    if (count == 0) continue;
    NoticeLog remark;
    remark.warn(
        fmt::format("{} removed; for `bale add` to refuse them in what is made of it, too: "
                    "`bale log --removed SRC | bale remove DST --from -`",
                    count == 1 ? "1 sample was" : fmt::format("{} were", plural(count, "sample"))));
    ledger.merge(remark, place);
  }
}

/// The condition, whose error has no place in it.
Where where_of(const std::string& text) {
  if (text.empty()) return {};
  try {
    return Where::parse(text);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.hint = error.context().hint});
  }
}

}  // namespace

std::function<void(const std::string&)> warner(std::vector<std::string>& warnings, const RunNotes& notes) {
  return [&warnings, &notes](const std::string& line) {
    warnings.push_back(notes.options.shown(line));
    notes.warning(warnings.back());
  };
}

FormatAndLayout format_of(const PackRequest& request) {
  const auto find = request.decode ? find_decoded_format : find_format;
  return find(request.format.empty() ? formats()[0]->name : request.format, request.layout);
}

ListedSource list_source(const PackRequest& asked, const RunNotes& notes) {
  const auto begin = std::chrono::steady_clock::now();
  PackRequest request = with_places_settled(asked);
  const Where where = where_of(request.where);
  require_local_name(request.options.destination, UrlUse::packing);  // before the source is listed
  if (request.command == "add") {
    request.options = options_to_add(std::move(request.options));
  } else {
    request.options.format = format_of(request);
  }
  request.options.default_name = default_name(request);
  request.source_options.keys_name_files = request.options.format.layout->keys_name_files;
  request.source_options.skip_damaged = request.options.on_error != OnError::fail;
  request.source_options.strict = request.strict;

  LeftOut left_out;
  std::unique_ptr<Source> source = open_source_of(request, notes);
  if (!request.exclude_from.empty()) {
    source = exclude_listed(std::move(source), request.exclude_from, left_out.listed);
  }
  source = filter_source(std::move(source), where, request.options.jobs, left_out.where);
  if (request.source_options.skip_damaged) source = leave_out_repeated_keys(std::move(source));
  const std::uint64_t num_listed = source->size();
  source = draw_samples(std::move(source), request.draw);
  NoticeLog ledger = source->notices();
  note_excluded(request.exclude_from, left_out.listed, ledger, notes);
  note_unused(request, *source, ledger);
  note_removals(request, *source, ledger);
  const std::string noun = request.source_is_packed ? "entry" : "path";
  for (const std::string& line : notice_lines(ledger, noun, notes.options)) notes.note(line);
  for (const std::string& line : where_lines(left_out.where)) notes.note(line);
  if (request.strict) require_all_taken(ledger, noun);
  if (!request.draw.takes_all() && notes.remark) {
    notes.remark(fmt::format("selected {} of {} at random (seed {})", human_count(source->size()),
                             plural(num_listed, "sample"), request.draw.seed));
  }
  RunRemarks remarks{.notices = std::move(ledger), .left_out = std::move(left_out), .labels = source->label_origin()};
  std::function<void(NoticeLog & log)> read_notices = source->read_notices();
  return {.request = std::move(request),
          .source = std::move(source),
          .remarks = std::move(remarks),
          .read_notices = std::move(read_notices),
          .begin = begin};
}

std::optional<std::string> unlabeled_line(std::uint64_t num_unlabeled, std::uint64_t num_samples) {
  if (num_unlabeled == 0 || num_unlabeled == num_samples) return std::nullopt;
  return fmt::format("{} of {} samples have no label", num_unlabeled, num_samples);
}

void note_read(ListedSource& listed, const RunNotes& notes) {
  if (!listed.read_notices) return;
  NoticeLog read;
  listed.read_notices(read);
  for (const std::string& line : notice_lines(read, "sample", notes.options)) notes.note(line);
  listed.remarks.notices.merge(read, {});
}

PackOutcome pack_listed(ListedSource& listed, const RunNotes& notes, Progress& progress) {
  PackOptions& options = listed.request.options;
  options.on_warning = warner(listed.remarks.warnings, notes);
  PackOutcome outcome;
  try {
    outcome.report = listed.request.command == "add"
                         ? add(std::move(listed.source), options, listed.request.add, progress)
                         : pack(*listed.source, options, progress);
  } catch (const Error& error) {
    throw with_way_on(error, options.destination, progress);
  }
  note_read(listed, notes);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - listed.begin).count();
  outcome.images = conditions_of(outcome.report, options.max_pixels);
  return outcome;
}

PlanReport plan_listed(ListedSource& listed, const std::string& path, const RunNotes& notes) {
  listed.request.options.on_warning = warner(listed.remarks.warnings, notes);
  return plan_pack(*listed.source, listed.request.options, path);
}

PackPreview preview_listed(ListedSource& listed, const std::string& path, const RunNotes& notes, Progress& progress) {
  listed.request.options.on_warning = warner(listed.remarks.warnings, notes);
  if (listed.request.command == "add") {
    return preview_add(std::move(listed.source), listed.request.options, listed.request.add, progress);
  }
  return path.empty() ? preview_pack(*listed.source, listed.request.options)
                      : preview_plan(*listed.source, listed.request.options, path);
}

PartReport pack_part_of(const std::string& plan, const PartChoice& choice, const PackOptions& options,
                        Progress& progress) {
  try {
    return pack_part(plan, choice, options.jobs, progress, options.staging_directory);
  } catch (const Error& error) {
    throw with_way_on(error, plan, progress);
  }
}

namespace {

/// What a run wrote: the dataset, or the shards that were added to it. nullopt if there are none.
std::optional<Dataset> written_by(const PackReport::Output& output, const std::optional<AddedSamples>& added) {
  constexpr bool k_relative = true;
  if (!added) return Dataset::open(join_path(output.directory, k_manifest_name), {.relative_names = k_relative});
  std::uint64_t num_left = added->parent == added->version ? 0 : output.manifest.change.num_samples;
  std::string spec;
  for (auto shard = output.manifest.shards.rbegin(); num_left != 0; ++shard) {
    spec = join_path(output.directory, shard->file) + (spec.empty() ? "" : "::") + spec;
    num_left -= std::min(num_left, shard->num_samples);
  }
  if (spec.empty()) return std::nullopt;
  return Dataset::open(spec, {.relative_names = k_relative});
}

}  // namespace

ImageConditions conditions_of(const PackReport& report, std::uint64_t max_pixels) {
  ImageConditions all{.max_pixels = max_pixels};
  for (const PackReport::Output& output : report.outputs) {
    const std::optional<Dataset> written = written_by(output, report.added);
    if (!written) continue;
    const Dataset& dataset = *written;
    const ImageConditions one = image_conditions(dataset, k_max_named_images - all.unusable.size(), max_pixels);
    all.num_complete += one.num_complete;
    all.num_incomplete += one.num_incomplete;
    all.num_undecodable += one.num_undecodable;
    all.num_unknown += one.num_unknown;
    all.num_above_limit += one.num_above_limit;
    all.unusable.insert(all.unusable.end(), one.unusable.begin(), one.unusable.end());
  }
  return all;
}

Error with_way_on(const Error& error, const std::string& place, const Progress& progress) {
  constexpr const char* k_again = "run the same command again to continue";
  if (error.context().hint == k_no_space_hint) {
    ErrorContext context = error.context();
    context.hint = fmt::format("free some space, then {}", k_again);
    return {error.code(), error.message(), std::move(context)};
  }
  if (error.code() != ErrorCode::interrupted) return error;
  const std::string done = fmt::format("interrupted with {} of {} written", human_count(progress.shards),
                                       plural(progress.total_shards, "shard"));
  return {error.code(), done, {.path = place, .hint = error.context().hint.empty() ? k_again : error.context().hint}};
}

}  // namespace bale
