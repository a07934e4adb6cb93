// bale.pack(), convert(), plan(), pack_part(), merge(), verify() and inspect(): requests of the libraries, with the GIL
// released. python/bale/_requests.py gives values as texts.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/options/option_table.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/base/watched_run.hpp"
#include "bale/python/bindings/bindings.hpp"
#include "bale/python/bindings/gil.hpp"
#include "bale/reader/check/check_table.hpp"
#include "bale/reader/check/report_json.hpp"
#include "bale/reader/spec/directory_content.hpp"
#include "bale/writer/request/change_request.hpp"
#include "bale/writer/request/merge_request.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/request/run_lines.hpp"
#include "bale/writer/request/versions_request.hpp"

namespace bale::python {
namespace {

/// How long a run may take to stop after Ctrl-C, or when the interpreter shuts down.
constexpr std::chrono::seconds k_patience{10};

/// Lines of a run, which wait for the thread that has the GIL.
class SaidLines {
 public:
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  Lines take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  Lines lines_;
};

/// Returns a report. It owns all that it uses.
using Run = std::function<std::string(Progress&)>;

/// The runs of a process that somebody waits for.
class LiveRuns {
 public:
  void begin(const Run& run, Progress& progress) {
    const std::lock_guard lock(mutex_);
    live_[&run] = &progress;
  }
  /// Ends it, or forgets it: nobody waits any more.
  void end(const Run& run) {
    const std::lock_guard lock(mutex_);
    live_.erase(&run);
    changed_.notify_all();
  }
  /// Stops all, and waits for them. Call it without the GIL.
  void stop() {
    std::unique_lock lock(mutex_);
    for (const auto& [run, progress] : live_) progress->stop = true;
    changed_.wait_for(lock, k_patience, [this] { return live_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const Run*, Progress*> live_;
};

/// Those of this process. It lives as long as the process: a run may outlive the interpreter.
LiveRuns& live_runs() {
  static PerProcess<LiveRuns> runs;
  return runs.get([] { return std::make_unique<LiveRuns>(); });
}

using Paths = std::vector<std::string>;

struct Call {
  Paths paths{};
  std::shared_ptr<Edit> edit{};  // that gets the change; null: it is published at once
  std::vector<GivenOption> given{};
  OptionNames names{};
  std::shared_ptr<SaidLines> said = std::make_shared<SaidLines>();

  /// Takes the options of a table, whose keywords are then those of messages.
  void take(const OptionTable& table, const std::string& command) {
    names = option_names(table, false);
    try {
      take_options(table, given);
    } catch (const Error& error) {
      throw Error(error.code(), error.message(), {.hint = "see `bale " + command + " --help`"});
    }
  }
  RunNotes notes() const {
    const auto add = [said = said](const std::string& line) { said->add(line); };
    return {.note = add,
            .remark = add,
            .warning = [add](const std::string& line) { add("bale: warning: " + line); },
            .options = names};
  }
  void say(const Lines& lines) const {
    for (const std::string& line : lines) said->add(line);
  }
};

/// What is said about what was packed, and its report.
std::string report_of_outcome(const PackOutcome& outcome, RunRemarks remarks, const Call& call) {
  call.say(replaced_lines(outcome.report));
  call.say(added_lines(outcome.report));
  const Lines unusable = unusable_image_lines(outcome.images, call.names);
  call.say(unusable);
  remarks.warnings.insert(remarks.warnings.end(), unusable.begin(), unusable.end());
  call.say(planes_lines(outcome.report));
  call.say(undecodable_lines(outcome.report));
  call.say(skipped_lines(outcome.report.skipped, call.names));
  return pack_json(outcome.report, outcome.seconds, remarks, outcome.images);
}

/// Paths are source and destination, without a source if there is `files_from`; of a plan also its file.
Run pack_run_of(const char* command, Call& call) {
  struct Asked {
    PackRequest request{};
    OptionTable table{};  // fills the request
  };
  const auto asked = std::make_shared<Asked>();
  PackRequest& request = asked->request;
  request.command = command;
  request.source_is_packed = request.command == "convert";
  add_pack_options(asked->table, request);
  add_run_options(asked->table, request);
  call.take(asked->table, command);
  const bool adds = request.command == "add";
  (adds ? request.options.destination : request.source) = call.paths.at(0);
  if (call.paths.size() > 1) (adds ? request.source : request.options.destination) = call.paths[1];
  const std::string plan = call.paths.size() > 2 ? call.paths[2] : std::string();
  return [asked, plan, call](Progress& progress) {
    const RunNotes notes = call.notes();
    require_output_file(plan, false);
    ListedSource listed = list_source(asked->request, notes);
    progress.throw_if_stopped();
    if (call.edit) {
      PackOptions& options = listed.request.options;
      options.on_warning = warner(listed.remarks.warnings, notes);
      ChangeOutcome outcome{.change = call.edit->add(std::move(listed.source), options, listed.request.add, progress)};
      note_read(listed, notes);
      outcome.remarks = std::move(listed.remarks);
      call.say(change_lines(outcome));
      return change_json(outcome);
    }
    if (asked->request.dry_run) {
      const PackPreview preview = preview_listed(listed, plan, notes, progress);
      return preview_json(preview, listed.remarks.warnings);
    }
    if (!plan.empty()) {
      const PlanReport report = plan_listed(listed, plan, notes);
      return plan_json(report, listed.remarks);
    }
    const PackOutcome outcome = pack_listed(listed, notes, progress);
    return report_of_outcome(outcome, listed.remarks, call);
  };
}

Run part_run_of(Call& call) {
  struct Asked {
    PartChoice choice{};
    PackOptions options{};
  };
  Asked asked;
  OptionTable table;
  add_part_options(table, asked.choice);
  add_jobs(table, asked.options.jobs, "");
  add_text(table, "staging_dir", "DIR", asked.options.staging_directory, "");
  call.take(table, "pack");
  return [asked, call](Progress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    const PartReport report = pack_part_of(call.paths.at(0), asked.choice, asked.options, progress);
    call.say(skipped_lines(report.skipped, call.names));
    return part_json(report, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  };
}

Run merge_run_of(Call& call) {
  MergeRequest request;
  OptionTable table;
  add_merge_options(table, request);
  call.take(table, "merge");
  request.sources = call.paths;
  return [request, call](Progress& progress) {
    const MergeOutcome outcome = merge(request, call.notes(), progress);
    if (!outcome.report.datasets) call.say(missing_lines(outcome.report, request.sources.front()));
    require_complete(outcome.report);
    RunRemarks remarks;
    remarks.warnings = outcome.warnings;
    return report_of_outcome(packed_of(outcome), remarks, call);
  };
}

/// Paths are the dataset, and what is removed or set.
Run change_run_of(const char* command, Call& call) {
  ChangeRequest request{.command = command, .edit = call.edit};
  OptionTable table;
  add_change_options(table, request);
  call.take(table, command);
  request.options.destination = call.paths.at(0);
  if (request.command == "set") {
    request.setting = call.paths.at(1);
  } else {
    request.removal.keys.assign(call.paths.begin() + 1, call.paths.end());
  }
  return [request, call](Progress& progress) {
    const ChangeOutcome outcome = change(request, progress);
    call.say(change_lines(outcome));
    return change_json(outcome);
  };
}

Run publish_run_of(Call& call) {
  std::string message;
  OptionTable table;
  add_message(table, message);
  call.take(table, "log");
  return [message, call](Progress& progress) {
    const ChangeOutcome outcome{.change = call.edit->publish(message, progress)};
    if (const auto& packed = outcome.change->added) {
      call.say(planes_lines(*packed));
      call.say(undecodable_lines(*packed));
      call.say(skipped_lines(packed->skipped, call.names));
    }
    call.say(change_lines(outcome));
    return change_json(outcome);
  };
}

Run versions_run_of(const Call& call) {
  return [call](Progress&) {
    const std::string& spec = call.paths.at(0);
    const DatasetPart part = one_dataset(spec);
    return versions_json(spec, dataset_versions(part.directory, part.version));
  };
}

Run prune_run_of(Call& call) {
  PruneOptions options;
  OptionTable table;
  add_prune_options(table, options);
  call.take(table, "log");
  return [options, call](Progress&) { return prune_json(call.paths.at(0), prune(call.paths.at(0), options)); };
}

Run verify_run_of(Call& call) {
  CheckOptions options;
  OptionTable table;
  add_check_options(table, options);
  call.take(table, "verify");
  return [options, call](Progress& progress) {
    const FreshVersions fresh;
    const std::string& spec = call.paths.at(0);
    if (const std::string note = named_datasets(spec).note; !note.empty()) call.said->add(note);
    const CheckReport report = check_dataset(spec, options, progress, [](const Damage&) {});
    call.say(notice_lines(report.notices, "entry", call.names));
    return check_json(report);
  };
}

Run inspect_run_of(const Call& call) {
  return [call](Progress&) {
    const std::string& spec = call.paths.at(0);
    const NamedDatasets named = named_datasets(spec);
    std::vector<DatasetSummary> summaries;
    for (const std::string& one : named.specs) summaries.push_back(summarize_dataset(one));
    return named.is_directory ? summaries_json(spec, summaries) : summary_json(summaries.front());
  };
}

Run run_of(const std::string& command, Call& call) {
  if (command == "pack") return pack_run_of("pack", call);
  if (command == "convert") return pack_run_of("convert", call);
  if (command == "add") return pack_run_of("add", call);
  if (command == "plan") return pack_run_of("plan", call);
  if (command == "pack_part") return part_run_of(call);
  if (command == "merge") return merge_run_of(call);
  if (command == "remove") return change_run_of("remove", call);
  if (command == "rewrite") return change_run_of("rewrite", call);
  if (command == "set") return change_run_of("set", call);
  if (command == "publish") return publish_run_of(call);
  if (command == "verify") return verify_run_of(call);
  if (command == "versions") return versions_run_of(call);
  if (command == "prune") return prune_run_of(call);
  return inspect_run_of(call);
}

/// Calls the methods note() and progress() of `display` while the run works, if there is one.
std::string watched(const Run& run, SaidLines& said, const nb::object& display) {
  const auto show_lines = [&] {
    for (const std::string& line : said.take()) {
      if (!display.is_none()) display.attr("note")(to_str(line));
    }
  };
  struct Live {
    explicit Live(const Run& one) : run(one) {}
    ~Live() { live_runs().end(run); }
    const Run& run;
  };
  const auto owned = std::make_shared<const Run>(run);
  const auto work = [owned](Progress& progress) {
    const Live live(*owned);
    live_runs().begin(*owned, progress);
    return (*owned)(progress);
  };
  std::string report;
  // The GIL is not taken in a handler: if the interpreter shuts down, Python unwinds the thread, which C++ can catch
  // only if it handles nothing else (gil.hpp).
  std::exception_ptr failure;
  {
    WithoutGil without_gil;
    const auto on_progress = [&](const ProgressCounts& counts) {
      without_gil.with_gil([&] {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        show_lines();
        if (display.is_none()) return;
        display.attr("progress")(counts.samples, counts.total_samples, counts.bytes, counts.total_bytes, counts.shards,
                                 counts.total_shards, counts.skipped);
      });
      return true;
    };
    const Live until_left(*owned);
    try {
      report = run_watched(work, on_progress, k_patience);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) {
    show_lines();
    std::rethrow_exception(failure);
  }
  return report;
}

/// An edit that Python holds, and runs that outlive it.
struct PythonEdit {
  std::shared_ptr<Edit> edit;
};

nb::str run_request(const std::string& command, const nb::list& paths, const nb::dict& options,
                    const nb::object& display, const PythonEdit* edit) {
  Call call;
  if (edit != nullptr) call.edit = edit->edit;
  for (const nb::handle path : paths) call.paths.push_back(from_str(nb::cast<nb::str>(path)));
  call.given = given_options(options);
  try {
    const Run run = run_of(command, call);
    return to_str(watched(run, *call.said, display));
  } catch (const Error& error) {
    throw call.names.shown(error);
  }
}

/// (keyword, type) of each option of a function that takes those of a command.
nb::list option_rows(const std::string& command) {
  PackRequest request;
  CheckOptions check;
  OptionTable table;
  if (command == "verify") {
    add_check_options(table, check);
  } else {
    request.command = command;
    request.source_is_packed = command == "convert";
    add_pack_options(table, request);
    add_run_options(table, request);
  }
  nb::list rows;
  for (const OptionModel& option : table) rows.append(nb::make_tuple(option.keyword(), option.type));
  return rows;
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> given_options(const nb::dict& options) {
  std::vector<GivenOption> given;
  for (const auto& [name, texts] : options) {
    GivenOption& option = given.emplace_back(from_str(nb::cast<nb::str>(name)), std::vector<std::string>());
    for (const nb::handle text : texts) option.second.push_back(from_str(nb::cast<nb::str>(text)));
  }
  return given;
}

void bind_requests(nb::module_& module) {
  nb::class_<PythonEdit>(module, "Edit", "Changes of a packed dataset that run_request() collects and publishes.")
      .def(
          "__init__",
          [](PythonEdit* self, const nb::str& directory) {
            const std::string path = from_str(directory);
            const WithoutGil without_gil;
            new (self) PythonEdit{std::make_shared<Edit>(path)};
          },
          nb::arg("directory"), nb::sig("def __init__(self, directory: str) -> None"));
  module.def(
      "run_request", &run_request, nb::arg("command"), nb::arg("paths"), nb::arg("options"), nb::arg("display").none(),
      nb::arg("edit").none() = nb::none(),
      nb::sig("def run_request(command: str, paths: list[str], options: dict[str, list[str]], "
              "display: typing.Any, edit: Edit | None = None) -> str"),
      "The report as JSON text. `options` are texts by keyword: one, several if it is repeated, none for a flag. "
      "`display`, if not None, has methods note(line) and progress(samples, total_samples, bytes, total_bytes, "
      "shards, total_shards, skipped). `edit`, if not None, gets the change.");
  module.def("option_rows", &option_rows, nb::arg("command"),
             nb::sig("def option_rows(command: str) -> list[tuple[str, str]]"),
             "The keyword and the type of each option, from which bale.options is made.");
  module.def(
      "printed_key", [](const nb::str& key) { return to_str(printed_key(from_str(key))); }, nb::arg("key"),
      nb::sig("def printed_key(key: str) -> str"), "The key on one line, as `bale ls` prints it.");
  module.def(
      "stop_requests",
      [] {
        const WithoutGil without_gil;
        live_runs().stop();
      },
      "Stops the runs of all threads, when the interpreter shuts down.");
}

}  // namespace bale::python
