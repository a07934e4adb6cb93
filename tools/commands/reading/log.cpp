// `log`: the versions of a packed dataset, which of them a state of a training run saw, and which of them go.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/version.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/request/versions_request.hpp"

namespace bale::tools {
namespace {

constexpr std::uint64_t k_max_state_bytes = std::uint64_t{16} << 20;

/// The dataset's versions, from the named one to the first.
std::vector<DatasetVersion> versions_of(const std::string& spec) {
  const DatasetPart part = one_dataset(spec);
  return dataset_versions(part.directory, part.version);
}

/// The version in the first state of a Loader in the JSON, at any depth.
std::optional<std::string> version_in_state(const Json& json) {
  if (const Json* const id = json.find("dataset"); id != nullptr && id->is_text() && json.contains("fingerprint")) {
    return id->as_text("dataset");
  }
  std::optional<std::string> found;
  if (json.is_object()) {
    for (const auto& [name, value] : json.as_members("state")) {
      if (!found) found = version_in_state(value);
    }
  } else if (json.is_array()) {
    for (const Json& item : json.as_list("state")) {
      if (!found) found = version_in_state(item);
    }
  }
  return found;
}

/// Only the version that the state saw.
void keep_found(const std::string& spec, const std::string& path, std::vector<DatasetVersion>& versions) {
  const std::vector<std::byte> text = read_file(path, k_max_state_bytes);
  std::optional<std::string> id;
  try {
    id = version_in_state(parse_json(as_text(text)));
  } catch (const Error& error) {
    throw Error(error.code(), error.message(),
                {.path = path, .hint = "save what state_dict() returned with json.dump()"});
  }
  if (!id) {
    throw Error(ErrorCode::not_found, "no state of a Loader in it names a version",
                {.path = path, .hint = "states of earlier versions of bale do not"});
  }
  std::erase_if(versions, [&](const DatasetVersion& version) { return version.id != *id; });
  if (versions.empty() || !versions.front().gone.empty()) {
    throw Error(ErrorCode::not_found,
                fmt::format("the state saw version {}, which {}", *id,
                            versions.empty() ? "is none of this dataset's" : "was " + versions.front().gone),
                {.path = spec, .hint = "`bale log` lists those that it has"});
  }
}

std::string change_text(const DatasetVersion& version) {
  if (version.parent.empty()) return "made by " + printable(version.created_by);
  std::string text = fmt::format("{} {}", printable(version.change.verb), plural(version.change.num_samples, "sample"));
  if (!version.change.message.empty()) text += ": " + printable(version.change.message);
  return text;
}

/// `log --prune`.
int run_prune(const LogCommand& command, Terminal& terminal) {
  const PruneReport report = prune(command.spec, command.pruning);
  if (command.json) {
    terminal.print(prune_json(command.spec, report));
    return k_exit_ok;
  }
  for (const std::string& id : report.pruned) terminal.print(id + "\n");
  terminal.print(fmt::format("{} {}: {}, {}\n", command.pruning.dry_run ? "would prune" : "pruned",
                             plural(report.pruned.size(), "version"), plural(report.num_files, "file"),
                             human_bytes(report.num_bytes)));
  if (report.bucket_keeps_removed) terminal.print(fmt::format("{}\n", k_bucket_keeps_removed));
  return k_exit_ok;
}

}  // namespace

int run_log(const LogCommand& command, Terminal& terminal) {
  if (command.prune) return run_prune(command, terminal);
  if (command.removed) {
    const DatasetPart part = one_dataset(command.spec);
    terminal.print(removals_text(part.directory, part.load()));
    return k_exit_ok;
  }
  std::vector<DatasetVersion> versions = versions_of(command.spec);
  if (!command.state.empty()) keep_found(command.spec, command.state, versions);
  if (command.json) {
    terminal.print(versions_json(command.spec, versions));
    return k_exit_ok;
  }
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::left});
  table.add({"VERSION", "SAMPLES", "SHARDS", "SIZE", "CHANGE"});
  for (const DatasetVersion& version : versions) {
    if (!version.gone.empty()) {
      table.add({version.id, {}, {}, {}, printable(version.gone)});
      continue;
    }
    table.add({version.id, human_count(version.num_samples), human_count(version.num_shards),
               human_bytes(version.num_bytes), change_text(version)});
  }
  terminal.print(table.text());
  return k_exit_ok;
}

}  // namespace bale::tools
