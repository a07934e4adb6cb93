#include "bale/tools/cli/options/options.hpp"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/registry/registry.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/request/pack_request.hpp"

namespace bale::tools {
namespace {

/// `pack --plan`. Everything that the plan settles is excluded. Call it when all other options are declared.
void declare_parts(PackCommand& command, CommandModel& app) {
  const std::set<std::string> allowed{"--jobs", "--staging-dir", "--dry-run", "--json", "--quiet", "--json-progress"};
  std::vector<std::string> settled;
  for (const OptionModel& option : app.options) {
    if (!allowed.contains(option.long_name)) settled.push_back(option.long_name);
  }
  OptionModel& plan = add_text(app.options, "--plan", "PLAN", command.plan,
                               "Pack shards of a plan that `bale plan` made, instead of SRC into DST");
  plan.excluded = settled;
  add_part_options(app.options, command.choice);
  for (auto option = app.options.end() - 2; option != app.options.end(); ++option) option->needs(plan);
  for (auto option = app.options.end() - 3; option != app.options.end(); ++option) option->group = "Parts of a plan";
}

/// `pack`, `convert` and `plan`.
void declare_packing(PackCommand& command, CommandModel& app) {
  const bool is_plan = command.request.command == "plan";
  OptionModel& from = add_positional(
      app, "SRC", command.request.source,
      command.request.source_is_packed ? k_spec_text
                                       : "Folder with one subfolder per class, a table (.csv, .tsv, .jsonl) with paths "
                                         "and labels, a list (a text file of paths), or a packed dataset; omitted with "
                                         "--files-from");
  OptionModel& to = add_positional(
      app, "DST", command.request.options.destination,
      is_plan
          ? "Directory that the parts will write the dataset to, which all machines must share, or s3://BUCKET/PREFIX"
          : "Directory to write the dataset to, created if it does not exist, or s3://BUCKET/PREFIX");
  from.required = command.request.source_is_packed;
  to.required = command.request.command != "pack";
  from.checked_by_command = to.checked_by_command = true;

  add_pack_options(app.options, command.request);
  const std::size_t begin = app.options.size();
  if (is_plan) {
    add_text(app.options, "-o,--output", "PLAN", command.plan, "File to write the plan to").required = true;
  }
  add_run_options(app.options, command.request);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  if (!is_plan) add_json_progress(app, command.json_progress);
  set_group(app.options, begin, k_run_group);
  if (command.request.command == "pack") declare_parts(command, app);
  show_flags(app);
}

}  // namespace

void declare_pack(PackCommand& command, CommandModel& app) {
  command.request.command = "pack";
  declare_packing(command, app);
  app.footer =
      "Examples:\n"
      "  bale pack imagenet/train packed\n"
      "  bale pack photos packed --flat --shard-samples 1000 --shuffle 1\n"
      "  find photos \\( -iname '*.jpg' -o -iname '*.jpeg' \\) -print0 | bale pack --files-from - -0 packed\n"
      "  bale pack VOC2012/JPEGImages packed --flat --pair jpg,mask.png \\\n"
      "    --pair-path 'mask.png=../SegmentationClass/{stem}.png'\n"
      "  bale pack --plan imagenet.plan --part 3/16";
}

void declare_add(PackCommand& command, CommandModel& app) {
  PackRequest& request = command.request;
  request.command = "add";
  add_positional(app, "PACKED", request.options.destination, "Directory of the packed dataset to add to");
  OptionModel& from =
      add_positional(app, "NEW", request.source, "What to add, as `bale pack` takes it; omitted with --files-from");
  from.required = false;
  from.checked_by_command = true;
  add_pack_options(app.options, request);
  const std::size_t begin = app.options.size();
  add_run_options(app.options, request);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  set_group(app.options, begin, k_run_group);
  show_flags(app);
  app.footer =
      "Only new shards are written, in the format of the dataset and with its edits of images. Classes keep their\n"
      "numbers; new ones get the next. `bale log` lists the versions, and PACKED@VERSION is one of them.\n"
      "Examples:\n"
      "  bale add packed photos/week48 -m 'week 48'\n"
      "  bale add packed photos --skip-existing";
}

void declare_remove(ChangeCommand& command, CommandModel& app) {
  ChangeRequest& request = command.request;
  request.command = "remove";
  add_positional(app, "PACKED", request.options.destination, "Directory of the packed dataset");
  OptionModel& keys = add_positional(app, "KEYS", request.removal.keys, "Samples to remove, as `bale ls` prints them");
  keys.required = false;
  add_change_options(app.options, request);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  app.footer =
      "No shard is written: readers of the new version do not see the samples, and `bale add` refuses them. Older\n"
      "versions and other programs see them until the shards are written again.\n"
      "Examples:\n"
      "  bale remove packed cat/00012 dog/00007 -m 'asked to by the owner'\n"
      "  bale remove packed --from keys.txt\n"
      "  bale log --removed elsewhere | bale remove packed --from -";
}

void declare_set(ChangeCommand& command, CommandModel& app) {
  ChangeRequest& request = command.request;
  request.command = "set";
  add_positional(app, "PACKED", request.options.destination, "Directory of the packed dataset");
  add_positional(app, "SETTING", request.setting,
                 "label=FILE: a table (.csv, .tsv, .jsonl) with the columns key and label, names or numbers of "
                 "classes; or NAME.EXT=FILE: values of a field, from a table, a NumPy array (with --keys) or a folder "
                 "of files KEY.EXT");
  add_change_options(app.options, request);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  app.footer =
      "No shard is written: readers of the new version see the new labels and values. Other programs see the old ones\n"
      "until the shards are written again.\n"
      "Examples:\n"
      "  bale set packed label=corrections.csv -m 'second annotation'\n"
      "  bale set packed aesthetic.txt=scores.csv\n"
      "  bale set packed mask.png=masks --missing error";
}

void declare_rewrite(ChangeCommand& command, CommandModel& app) {
  ChangeRequest& request = command.request;
  request.command = "rewrite";
  add_positional(app, "PACKED", request.options.destination, "Directory of the packed dataset");
  add_change_options(app.options, request);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  app.footer =
      "Other programs then see the current version, and its samples stay in their order. Shards that it does not need\n"
      "any more go to PACKED/versions, for older versions. A run that was interrupted continues when it is run again.\n"
      "Examples:\n"
      "  bale rewrite packed\n"
      "  bale rewrite packed --purge          # no byte of a removed sample stays\n"
      "  bale rewrite packed --small 64MiB    # after many small additions";
}

void declare_convert(PackCommand& command, CommandModel& app) {
  command.request.command = "convert";
  command.request.source_is_packed = true;
  declare_packing(command, app);
  app.footer = fmt::format("Example:\n  bale convert packed elsewhere --format {}",
                           formats()[formats().size() > 1 ? 1 : 0]->name);
}

void declare_plan(PackCommand& command, CommandModel& app) {
  command.request.command = "plan";
  declare_packing(command, app);
  app.footer =
      "Examples:\n"
      "  bale plan imagenet/train /shared/packed -o imagenet.plan\n"
      "  sbatch --array=0-15 --wrap 'bale pack --plan imagenet.plan --part $SLURM_ARRAY_TASK_ID/16'\n"
      "  bale merge imagenet.plan";
}

void declare_merge(MergeCommand& command, CommandModel& app) {
  add_positional(app, "SRC", command.request.sources,
                 "Plan that `bale plan` made, or a directory into which Writers wrote parts; with -o packed datasets");
  add_merge_options(app.options, command.request);
  add_json(app, command.json, "Print the result as JSON");
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  app.footer =
      "Examples:\n"
      "  bale merge imagenet.plan            # parts of a plan, or which of them are missing\n"
      "  bale merge /shared/packed           # parts that Writers wrote there\n"
      "  bale merge monday tuesday -o week   # packed datasets, shard by shard";
}

void declare_index(IndexCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_flag(app.options, "--force", command.force,
           "Rebuild existing files: the indexes, or with --seek-points or --sidecars only those");
  add_flag(app.options, "--check-images", command.check_images,
           "Decode every image, and name those that cannot be; the index says so");
  add_max_pixels(app.options, command.max_pixels);
  add_flag(app.options, "--seek-points", command.seek_points, k_seek_points_text);
  add_sidecars(app.options, command.sidecars);
  add_jobs(app.options, command.jobs, "Threads (default: one per core); does not change the result");
  add_json(app, command.json);
  add_quiet(app, command.quiet);
}

}  // namespace bale::tools
