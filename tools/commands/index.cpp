#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "bale/formats/base/error_reason.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/parallel.hpp"
#include "bale/formats/base/temporary_file.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/formats/shard/stale_index.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/dataset_spec.hpp"
#include "bale/reader/image_conditions.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/human.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/writer/add_seek_points.hpp"
#include "bale/writer/add_sidecars.hpp"

namespace bale::tools {
namespace {

LookAtImage look_at_images(const IndexCommand& command) {
  return [&command](Bytes image) {
    const ImageCheck check = command.check_images ? ImageCheck::decode : ImageCheck::quick;
    const ImageFacts facts = check_image(image, check, command.max_pixels);
    return ImageEntry{.width = facts.width, .height = facts.height, .condition = facts.condition};
  };
}

/// Temporary files of killed runs, in the directories of the shards.
void remove_leftovers(const std::set<std::string>& directories, bool quiet, Terminal& terminal) {
  for (const std::string& directory : directories) {
    const std::uint64_t removed = remove_stale_temporaries(directory);
    if (removed == 0 || quiet) continue;
    terminal.note(
        fmt::format("{}: removed {} of killed runs", printable(directory), plural(removed, "temporary file")));
  }
}

struct IndexPlan {
  std::set<std::string> directories{};  // of all shards
  std::vector<std::string> paths{};     // to be indexed
  std::uint64_t num_indexed = 0;        // already, and rightly
};

/// Shards of a manifest have checksums that were made as they were written: never to be replaced by ones made of what
/// is there now.
void plan_part(const DatasetPart& part, bool replace, IndexPlan& plan) {
  std::vector<std::string> paths = part.shards;
  const bool has_manifest = !part.manifest_path.empty();
  if (has_manifest) {
    for (const ManifestShard& shard : load_manifest(part.manifest_path).shards) {
      paths.push_back(join_path(parent_directory(part.manifest_path), shard.file));
    }
  }
  for (const std::string& path : paths) {
    plan.directories.insert(parent_directory(path));
    const bool indexed = path_exists(index_path(path));
    if (!indexed || (replace && !has_manifest)) {
      plan.paths.push_back(path);
    } else if (has_current_index(path)) {
      ++plan.num_indexed;
    } else if (!has_manifest) {
      plan.paths.push_back(path);
    } else {
      throw Error(
          ErrorCode::changed, "the file was changed after it was packed",
          {.path = path, .hint = "copy it again; if the change was wanted, remove manifest.json and run `bale index`"});
    }
  }
}

/// Returns the number of shards that could not be indexed; each is named. Throws the error of a shard that is alone.
std::uint64_t make_indexes(const IndexCommand& command, Terminal& terminal) {
  if (!command.sidecars.empty()) check_sidecars(Dataset::open(command.spec), command.sidecars);
  IndexPlan plan;
  for (const DatasetPart& part : resolve_dataset(command.spec).parts) plan_part(part, command.force, plan);
  remove_leftovers(plan.directories, command.quiet, terminal);
  const std::vector<std::string>& paths = plan.paths;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> shards{0};
  std::uint64_t total_bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) total_bytes += size;
  }
  const auto poll = [&] {
    return ProgressCounts{
        .samples = samples, .bytes = bytes, .total_bytes = total_bytes, .shards = shards, .total_shards = paths.size()};
  };
  std::vector<NoticeLog> notices(paths.size());
  std::vector<std::optional<Error>> failures(paths.size());
  const LookAtImage look = look_at_images(command);
  const StopOnSignal stop_on_signal(stop);
  ProgressDisplay display(terminal, "indexed", poll, progress_style(command.quiet));
  run_parallel(paths.size(), command.jobs, [&](std::size_t number) {
    const std::string& path = paths[number];
    const auto on_progress = [&](std::uint64_t read) {
      throw_if_stopped(stop);
      bytes += read;
      ++samples;
    };
    std::vector<std::byte> index;
    try {
      index = index_shard(path, probe_format(path), look, on_progress, notices[number]);
    } catch (const Error& error) {
      if (paths.size() == 1 || !concerns_one_file(error)) throw;
      failures[number] = error;
      return;
    }
    publish_file(index_path(path), index);
    ++shards;
  });
  display.finish();
  // With --quiet too: the index will not tell what its scan left out.
  NoticeLog all_notices;
  for (const NoticeLog& of_shard : notices) all_notices.merge(of_shard, "");
  show_notices(all_notices, "entry", terminal);
  std::uint64_t num_failed = 0;
  for (std::size_t number = 0; number < paths.size(); ++number) {
    if (!failures[number]) continue;
    terminal.error(fmt::format("{}: not indexed: {}", printable(paths[number]), error_reason(*failures[number])));
    ++num_failed;
  }
  if (!command.quiet) {
    terminal.print(fmt::format("{} indexed, {} with an index already\n", plural(paths.size() - num_failed, "shard"),
                               plan.num_indexed));
  }
  return num_failed;
}

AddedSeekPoints make_seek_points(const IndexCommand& command, Terminal& terminal) {
  const Dataset dataset = Dataset::open(command.spec);
  Progress progress;
  const auto poll = [&] {
    return ProgressCounts{.samples = progress.samples,
                          .total_samples = progress.total_samples,
                          .shards = progress.shards,
                          .total_shards = progress.total_shards};
  };
  const StopOnSignal stop(progress.stop);
  ProgressDisplay display(terminal, "decoded", poll, progress_style(command.quiet));
  const AddedSeekPoints added = add_seek_points(dataset, command.jobs, command.force, progress);
  display.finish();
  if (!command.quiet) {
    terminal.print(fmt::format("seek points for {} of {} in {}, {} with seek points already\n",
                               human_count(added.num_images), plural(added.num_samples, "sample"),
                               plural(added.num_shards, "shard"), dataset.num_shards() - added.num_shards));
  }
  return added;
}

}  // namespace

int run_index(const IndexCommand& command, Terminal& terminal) {
  if (const std::uint64_t num_failed = make_indexes(command, terminal); num_failed != 0) {
    terminal.flush();
    terminal.error(fmt::format("{}: {} without an index; `bale verify` names the damage, and "
                               "`bale convert --on-error skip` saves what is whole",
                               printable(command.spec), plural(num_failed, "shard")));
    return k_exit_skipped;
  }
  if (!command.quiet) show_flawed_images(image_conditions(Dataset::open(command.spec), k_max_named_images), terminal);
  if (!command.sidecars.empty()) {
    const std::uint64_t num_files = add_sidecars(Dataset::open(command.spec), command.sidecars, command.force);
    if (!command.quiet) terminal.print(fmt::format("{} for other readers written\n", plural(num_files, "file")));
  }
  if (!command.seek_points) return k_exit_ok;
  const AddedSeekPoints added = make_seek_points(command, terminal);
  if (added.num_unreadable == 0) return k_exit_ok;
  terminal.flush();
  terminal.error(fmt::format("{}: {} damaged and without seek points; `bale verify` names them",
                             printable(command.spec), plural(added.num_unreadable, "sample")));
  return k_exit_skipped;
}

}  // namespace bale::tools
