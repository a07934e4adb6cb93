#include "bale/tools/cli/options/options.hpp"

#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/check/check_table.hpp"
#include "bale/tools/cli/options/values.hpp"
#include "bale/writer/request/versions_request.hpp"
#include "bale/writer/source/choose/source_table.hpp"

namespace bale::tools {

void declare_inspect(InspectCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_json(app, command.json);
}

void declare_log(LogCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  OptionModel& find = add_text(
      app.options, "--find", "STATE", command.state,
      "Only the version that a state of a Loader saw; STATE is a JSON file that has what state_dict() returned");
  OptionModel& prune =
      add_flag(app.options, "--prune", command.prune,
               "Remove all versions but the current one and those of --keep, and the files that only they need")
          .excludes(find);
  const std::size_t first = app.options.size();
  add_prune_options(app.options, command.pruning);
  for (std::size_t n = first; n < app.options.size(); ++n) app.options[n].needs(prune);
  add_json(app, command.json);
  OptionModel& json = app.options.back();
  add_flag(app.options, "--removed", command.removed,
           "Instead, list the samples that versions removed, by hashes, for `bale remove --from` of other copies")
      .excludes(find)
      .excludes(prune)
      .excludes(json);
  show_flags(app);
  app.footer =
      "The first line is the current version. Any of them is read as \"SPEC@VERSION\", of which the first 4 digits "
      "are\n"
      "enough if they are of one version only.";
}

void declare_ls(LsCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_where(app.options, command.where.text);
  add_where_globs(app, command.where);
  add_flag(app.options, "-l,--long", command.long_lines,
           "Index, label, width x height and bytes of each field before the key");
  add_json(app, command.json, "One JSON object per line; keys that are not UTF-8 are {\"hex\": ...}");
  add_flag(app.options, "-0,--null", command.null_ended,
           "Keys as they are, each ended by NUL; without it odd bytes show as \\xNN");
}

void declare_cat(CatCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  OptionModel& key = add_parsed(
      app.options, "KEY", "KEY", [&command](const std::string&, const std::string& typed) { command.key = typed; },
      "Key of the sample, as `bale ls` prints it");
  add_parsed(app.options, "--index", "N", command.index, parse_whole, "The N-th sample, from 0, instead of a key")
      .excludes(key);
  add_text(app.options, "--field", "NAME", command.field, "Field to write (default: the image)");
}

void declare_extract(ExtractCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_positional(app, "DIR", command.directory, "Directory to write to; nothing is ever written outside it");
  add_repeated(app.options, "--field", "NAME", command.fields, "Write only this field; may be repeated (default: all)");
  add_repeated(app.options, "--include", "GLOB", command.include,
               "Write only samples whose key matches; may be repeated");
  add_where(app.options, command.where.text);
  add_flag(app.options, "--force", command.force, "Replace files that are there already with other content");
  add_strict(app.options, command.strict);
  add_json(app, command.json);
  add_quiet(app, command.quiet);
  app.footer =
      "\n"
      "A file has its name only when it is complete. Files that are there already with the same bytes are kept,\n"
      "so run the command again after it was stopped.";
}

void declare_verify(VerifyCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_check_options(app.options, command.options);
  add_json(app, command.json);
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  app.footer =
      "Findings are printed one per line: shard, what is wrong, key, field and offset.\n"
      "Exit code 3 if something is damaged, 1 if the system or bale cannot read it.";
}

void declare_diff(DiffCommand& command, CommandModel& app) {
  add_positional(app, "A", command.a, k_source_text);
  add_positional(app, "B", command.b, "The other one, of any format");
  add_flag(app.options, "--keys-only", command.options.keys_only, "Compare keys and labels; read no images");
  add_parsed(app.options, "--limit", "N", command.limit, parse_whole,
             "Differences to print, all are counted; 0: all (default: 100)");
  add_jobs(app.options, command.options.jobs, "Samples compared at a time (default: one per core)");
  add_strict(app.options, command.strict);
  add_json(app, command.json);
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  const std::size_t begin = app.options.size();
  add_source_options(app.options, command.source_options, SourceUse::of_each);
  set_group(app.options, begin, "A and B");
  show_flags(app);
  app.footer =
      "Samples are the same by their keys. Order, format and shards do not matter. Of A and B, a folder and a\n"
      "packed dataset for example, each takes the options that are for its kind.\n"
      "Exit code 0: the same. 3: not the same. 1: one of them cannot be opened.";
}

void declare_stats(StatsCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_json(app, command.json);
}

void declare_preview(PreviewCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_positional(app, "OUT", command.out, "Page to write, such as preview.html");
  add_parsed(app.options, "--count", "N", command.count, parse_positive, "Samples on the page (default: 30)");
  add_parsed(app.options, "--seed", "SEED", command.seed, parse_whole, "Another seed, other samples (default: 0)");
  add_flag(app.options, "--force", command.force, "Replace OUT if it exists");
  add_json(app, command.json);
}

void declare_read(ReadCommand& command, CommandModel& app) {
  add_spec(app, command.spec);
  add_parsed(
      app.options, "--order", "none|full|block", command.order, parse_order,
      "The dataset's own order (default), a full shuffle, or a block shuffle; block:SAMPLES,BLOCKS is one of other "
      "sizes");
  add_parsed(
      app.options, "--shuffle", "SEED",
      [&command](const std::string& option, const std::string& text) {
        command.seed = parse_whole(option, text);
        if (!command.order) command.order = Shuffle::full();
        if (command.order->kind != Shuffle::Kind::none) return;
        throw Error(ErrorCode::invalid_argument, option + " does not change the order none; leave one of them out");
      },
      "Read in a random order: the same seed gives the same one (default: 0)");
  add_parsed(app.options, "--epochs", "N", command.epochs, parse_positive, "Times to read the dataset (default: 1)");
  add_jobs(app.options, command.jobs, "Threads that read (default: one per core; 16 around the page cache)");
  OptionModel& direct = add_flag(
      app.options, "--direct", [&command] { command.direct_io = true; },
      "Read around the page cache if the file system can (default: for a full shuffle of data that do not fit into "
      "memory)");
  add_flag(
      app.options, "--no-direct", [&command] { command.direct_io = false; }, "Always read through the page cache")
      .excludes(direct);
  add_flag(app.options, "--large-transfers", command.large_transfers,
           "Read long runs in transfers of 2 MiB and more, with what is around them: for a block shuffle from "
           "a disk that is limited in transfers per second")
      .excludes(direct);
  add_flag(
      app.options, "--no-verify", [&command] { command.verify_checksums = false; }, "Do not compare checksums");
  add_json(app, command.json);
  add_quiet(app, command.quiet);
}

void declare_cache(CacheCommand& command, CommandModel& app) {
  add_positional(app, "ACTION", command.action, "What to do, as below").value_name = joined(cache_actions(), "|");
  add_positional(app, "ARG", command.arguments, "A size for trim, remote datasets for warm").required = false;
  add_flag(app.options, "--dry-run", command.dry_run, "With trim, clear or warm: show what would be done");
  add_json(app, command.json);
  add_quiet(app, command.quiet);
  add_json_progress(app, command.json_progress);
  app.footer =
      "\n"
      "  bale cache ls            list the files: size, bytes in the cache, last use\n"
      "  bale cache verify        compare everything with its checksum; remove what is wrong (exit code 3)\n"
      "  bale cache trim [SIZE]   remove what would be evicted first, down to SIZE (default: the limit)\n"
      "  bale cache clear         remove everything\n"
      "  bale cache warm NAME...  fetch whole remote datasets or shards\n"
      "\n"
      "The cache is the directory BALE_CACHE_DIR, by default ~/.cache/bale, and takes at most\n"
      "BALE_CACHE_LIMIT, by default nine tenths of what is free. All actions may be used while\n"
      "other processes read from it.\n"
      "Example:\n"
      "  bale cache warm s3://bucket/imagenet/train";
}

}  // namespace bale::tools
