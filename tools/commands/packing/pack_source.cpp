#include "bale/tools/commands/packing/pack_source.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/formats/storage/url_storage.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/notices.hpp"

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
    if (!options.annotations.empty()) throw usage_error(command, "--annotations and --files-from exclude each other");
    return open_list_source(command.files_from, options);
  }
  if (command.source_is_packed) return open_packed_source(command.source, options);
  tell_detected(command.source, options, terminal);
  return open_source(command.source, options);
}

/// Names of the list that are of no sample are warnings.
void tell_excluded(const std::string& list, const ExcludeCounts& counts, NoticeLog& ledger, Terminal& terminal) {
  if (list.empty()) return;
  if (counts.num_unmatched == 0) {
    terminal.note(fmt::format("{}: {} excluded", shown_name(list), plural(counts.num_excluded, "sample")));
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
void tell_unused(const PackCommand& command, const Source& source, NoticeLog& ledger) {
  std::uint64_t num_unlabeled = 0;
  for (std::uint64_t i = 0; i < source.size(); ++i) num_unlabeled += source.label(i) == k_no_label ? 1 : 0;
  const std::string& place = command.source.empty() ? command.files_from : command.source;
  const auto tell = [&](bool is_unused, std::string_view option, std::string_view why) {
    if (is_unused) ledger.no_effect(option, why, place);
  };
  const PackOptions& options = command.options;
  const bool is_unlabeled = num_unlabeled == source.size();
  tell(options.stratify && is_unlabeled, "stratify", "the samples have no labels");
  tell(command.draw.per_class && is_unlabeled, "sample_per_class", "the samples have no labels");
  tell(!options.staging_directory.empty() && !is_object_store(options.destination), "staging_dir",
       "the destination is a local directory");
  if (num_unlabeled == 0 || is_unlabeled) return;
  NoticeLog remark;
  remark.warn(fmt::format("{} of {} samples have no label", num_unlabeled, source.size()));
  ledger.merge(remark, place);
}

}  // namespace

ListedSource list_source(const PackCommand& asked, Terminal& terminal) {
  PackCommand command = with_places_settled(asked);
  const Where where = parse_where(command.where, terminal);
  use_url_storage();
  require_local_name(command.options.destination, UrlUse::packing);  // before the source is listed
  if (command.format.empty()) command.format = formats()[0]->name;
  const auto find = command.decode ? find_decoded_format : find_format;
  command.options.format = find(command.format, command.layout);
  command.options.default_name = default_name(command);
  command.source_options.keys_name_files = command.options.format.layout->keys_name_files;
  command.source_options.skip_damaged = command.options.on_error != OnError::fail;

  if (!command.quiet)
    terminal.set_status("listing " + printable(command.source.empty() ? command.files_from : command.source));
  LeftOut left_out;
  std::unique_ptr<Source> source = open_source_of(command, terminal);
  if (!command.exclude_from.empty()) {
    source = exclude_listed(std::move(source), command.exclude_from, left_out.listed);
  }
  source = filter_source(std::move(source), where, command.options.jobs, left_out.where);
  if (command.source_options.skip_damaged) source = leave_out_repeated_keys(std::move(source));
  const std::uint64_t num_listed = source->size();
  source = draw_samples(std::move(source), command.draw);
  terminal.clear_status();
  NoticeLog ledger = source->notices();
  tell_excluded(command.exclude_from, left_out.listed, ledger, terminal);
  tell_unused(command, *source, ledger);
  const std::string noun = command.source_is_packed ? "entry" : "path";
  show_notices(ledger, noun, terminal);
  tell_left_out(left_out.where, terminal);
  if (command.strict) require_all_taken(ledger, noun);
  if (!command.quiet && !command.draw.takes_all()) {
    terminal.note(fmt::format("selected {} of {} at random (seed {})", human_count(source->size()),
                              plural(num_listed, "sample"), command.draw.seed));
  }
  return {std::move(command), std::move(source), std::move(left_out), std::move(ledger)};
}

}  // namespace bale::tools
