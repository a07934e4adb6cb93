// All commands with their options.
#include "bale/tools/cli/cli.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "bale/formats/base/text/human.hpp"
#include "bale/tools/cli/options/options.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

/// A command whose arguments, a `Command`, are filled by the options that `declare` adds once `complete` is called.
template <typename Command>
CommandModel command_of(const std::string& name, const std::string& summary, int (*run)(const Command&, Terminal&),
                        void (*declare)(Command&, CommandModel&)) {
  CommandModel model{.name = "bale " + name, .summary = summary};
  model.complete = [run, declare](CommandModel& completed) {
    const auto command = std::make_shared<Command>();
    declare(*command, completed);
    completed.run = [command, run](Terminal& terminal) { return run(*command, terminal); };
  };
  return model;
}

/// A command that may read remote files.
template <typename Command>
CommandModel cached(const std::string& name, const std::string& summary, int (*run)(const Command&, Terminal&),
                    void (*declare)(Command&, CommandModel&)) {
  CommandModel model = command_of(name, summary, run, declare);
  model.complete = [complete = model.complete](CommandModel& completed) {
    complete(completed);
    add_cache_options(completed);
  };
  return model;
}

struct CompletionCommand {
  std::string shell;
};
struct NoArguments {};

CommandModel completion_command() {
  return command_of<CompletionCommand>(
      "completion", "Print a completion script for a shell.",
      [](const CompletionCommand& command, Terminal& terminal) {
        terminal.print(completion_script(command_line(), command.shell));
        return k_exit_ok;
      },
      [](CompletionCommand& command, CommandModel& app) {
        add_positional(app, "SHELL", command.shell, "Shell that will read the script").value_name =
            joined(completion_shells(), "|");
        app.footer = "Example:\n  source <(bale completion bash)";
      });
}

CommandModel man_command() {
  return command_of<NoArguments>(
      "man", "Print the manual page, in roff.",
      [](const NoArguments&, Terminal& terminal) {
        terminal.print(man_page(command_line()));
        return k_exit_ok;
      },
      [](NoArguments&, CommandModel&) {});
}

void add_help(CommandModel& command) {
  command.options.push_back(
      {.short_name = "-h", .long_name = "--help", .text = "Print this help; -h prints less of it"});
}

/// All commands, still without their options.
CommandModel commands_by_name() {
  CommandModel program{.name = "bale",
                       .summary = "Packs folders of small images into shards and reads them back fast.",
                       .footer =
                           "Run `bale COMMAND --help` for details. Exit codes: 0 success, 1 failure, 2 wrong usage,\n"
                           "3 verify found damage or diff differences, 4 finished but samples were skipped,\n"
                           "5 may succeed when tried again, 130 interrupted."};
  program.options.push_back({.short_name = "-V", .long_name = "--version", .text = "Print the version"});
  program.commands = {
      command_of("pack", "Pack a folder, list or table of images into shards.", run_pack, declare_pack),
      cached("add", "Add the images of a folder, list, table or packed dataset to a packed dataset.", run_pack,
             declare_add),
      command_of("remove", "Remove samples from a packed dataset, for all its readers at once.", run_change,
                 declare_remove),
      command_of("set", "Correct labels or set a field of a packed dataset.", run_change, declare_set),
      command_of("rewrite",
                 "Write the shards that `remove` and `set` changed again, for other readers; join small ones.",
                 run_change, declare_rewrite),
      cached("convert", "Write a packed dataset again, in another format, order or number of shards.", run_pack,
             declare_convert),
      cached("plan", "Write what `pack` would do to a file, to pack it in parts on many machines.", run_plan,
             declare_plan),
      command_of("merge", "Make one dataset of what was packed in parts, or of several packed datasets.", run_merge,
                 declare_merge),
      cached("index", "Write an index next to each shard that another program made, and what other readers want.",
             run_index, declare_index),
      cached("inspect", "Show what a packed dataset is: counts, fields, classes, shards.", run_inspect,
             declare_inspect),
      cached("log", "List the versions of a packed dataset, or find the one that a training run saw.", run_log,
             declare_log),
      cached("ls", "List the keys of the samples, one per line.", run_ls, declare_ls),
      cached("cat", "Write one field of one sample to standard output.", run_cat, declare_cat),
      cached("extract", "Write the samples as files, DIR/KEY.FIELD.", run_extract, declare_extract),
      cached("verify", "Read everything, compare every checksum and count, and name what is damaged.", run_verify,
             declare_verify),
      cached("diff", "Name the samples in which two datasets, or a dataset and its folder, differ.", run_diff,
             declare_diff),
      cached("stats", "Samples per class, image sizes and file sizes as small histograms.", run_stats, declare_stats),
      cached("report", "Show what is in a dataset, and what is wrong with it, on a page.", run_report, declare_report),
      cached("dedup", "List duplicates for --exclude-from, all of a group but one.", run_dedup, declare_dedup),
      cached("preview", "Write a page of random samples with their labels.", run_preview, declare_preview),
      cached("read", "Read every sample once and report throughput.", run_read, declare_read),
      cached("bench", "Measure how fast the dataset feeds a trainer, stage by stage.", run_bench, declare_bench),
      cached("tune", "Try numbers of workers and of prefetched batches, and recommend some.", run_tune, declare_tune),
      cached("doctor", "Find the training bottleneck: reading, decoding, copying or the device.", run_doctor,
             declare_doctor),
      cached("cache", "Inspect and manage the local cache of remote files.", run_cache, declare_cache),
      command_of<FormatsCommand>("formats", "List the formats and layouts of this build.", run_formats,
                                 [](FormatsCommand& command, CommandModel& app) { add_json(app, command.json); }),
      completion_command(),
      man_command()};
  add_help(program);
  return program;
}

void complete(CommandModel& command) {
  command.complete(command);
  add_help(command);
}

}  // namespace

CommandModel command_line() {
  CommandModel program = commands_by_name();
  std::for_each(program.commands.begin(), program.commands.end(), complete);
  return program;
}

CommandModel command_line(std::span<const char* const> words) {
  CommandModel program = commands_by_name();
  for (CommandModel& command : program.commands) {
    if (std::find(words.begin(), words.end(), command.short_name()) != words.end()) complete(command);
  }
  return program;
}

}  // namespace bale::tools
