#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/image_conditions.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/index/add_indexes.hpp"

namespace bale::tools {
namespace {

bool says_more(const IndexCommand& command) { return !command.quiet && !command.json; }

/// Prints each shard that could not be indexed. Throws the error of a single shard.
AddedIndexes make_indexes(const IndexCommand& command, Terminal& terminal) {
  if (!command.sidecars.empty()) {
    check_sidecars(Dataset::open(command.spec, {.relative_names = true}), command.sidecars);
  }
  const IndexingOptions options{.check = command.check_images ? ImageCheck::decode : ImageCheck::quick,
                                .max_pixels = command.max_pixels,
                                .replace = command.force && !command.seek_points && command.sidecars.empty(),
                                .jobs = command.jobs,
                                .on_removed_temporaries = [&](const std::string& directory, std::uint64_t count) {
                                  terminal.note(fmt::format("{}: removed {} of killed runs", shown_name(directory),
                                                            plural(count, "temporary file")));
                                }};
  const AddedIndexes added = run_attended("indexed", progress_style(command.quiet), terminal, [&](Progress& progress) {
    return add_indexes(command.spec, options, progress);
  });
  show_notices(added.notices, "entry", terminal);
  for (const AddedIndexes::Failure& failure : added.failures) {
    terminal.error(fmt::format("{}: not indexed: {}", shown_name(failure.path), error_reason(failure.error)));
  }
  if (says_more(command)) {
    terminal.print(
        fmt::format("{} indexed, {} with an index already\n", plural(added.num_added, "shard"), added.num_present));
  }
  return added;
}

AddedSeekPoints make_seek_points(const IndexCommand& command, Terminal& terminal) {
  const Dataset dataset = open_dataset(command.spec, terminal, command.quiet);
  const AddedSeekPoints added =
      run_attended("decoded", progress_style(command.quiet), terminal,
                   [&](Progress& progress) { return add_seek_points(dataset, command.jobs, command.force, progress); });
  if (says_more(command)) {
    terminal.print(fmt::format("seek points for {} of {} in {}, {} with seek points already\n",
                               human_count(added.num_images), plural(added.num_samples, "sample"),
                               plural(added.num_shards, "shard"), dataset.num_shards() - added.num_shards));
  }
  return added;
}

}  // namespace

int run_index(const IndexCommand& command, Terminal& terminal) {
  if (remote_storage_of(command.spec) != nullptr) require_local_name(command.spec, UrlUse::writing);
  const AddedIndexes indexes = make_indexes(command, terminal);
  if (!indexes.failures.empty()) {
    if (command.json) terminal.print(index_json(command.spec, indexes, 0, std::nullopt));
    terminal.flush();
    terminal.error(
        fmt::format("{}: {} without an index; `bale verify` names the damage, and "
                    "`bale convert --on-error skip` saves what is whole",
                    shown_name(command.spec), plural(indexes.failures.size(), "shard")));
    return k_exit_skipped;
  }
  show_lines(unusable_image_lines(image_conditions(Dataset::open(command.spec, {.relative_names = true}),
                                                   k_max_named_images, command.max_pixels),
                                  terminal.options()),
             terminal);
  std::uint64_t num_sidecars = 0;
  if (!command.sidecars.empty()) {
    num_sidecars = add_sidecars(Dataset::open(command.spec, {.relative_names = true}), command.sidecars, command.force);
    if (says_more(command)) terminal.print(fmt::format("{} for other readers written\n", plural(num_sidecars, "file")));
  }
  std::optional<AddedSeekPoints> points;
  if (command.seek_points) points = make_seek_points(command, terminal);
  if (command.json) terminal.print(index_json(command.spec, indexes, num_sidecars, points));
  if (!points || points->num_unreadable == 0) return k_exit_ok;
  terminal.flush();
  terminal.error(fmt::format("{}: {} damaged and without seek points; `bale verify` names them",
                             shown_name(command.spec), plural(points->num_unreadable, "sample")));
  return k_exit_skipped;
}

}  // namespace bale::tools
