// `log`: the versions of a packed dataset, and which of them a state of a training run saw.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/reader/spec/dataset_spec.hpp"
#include "bale/reader/version.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

constexpr std::uint64_t k_max_state_bytes = std::uint64_t{16} << 20;

/// The dataset's versions, from the named one to the first.
std::vector<DatasetVersion> versions_of(const std::string& spec) {
  const std::vector<DatasetPart> parts = resolve_dataset(spec).parts;
  if (parts.size() != 1 || parts.front().manifest_path.empty()) {
    throw Error(ErrorCode::invalid_argument, "has no versions: it is not one directory with a manifest.json",
                {.path = spec, .hint = "name a dataset that bale packed"});
  }
  return dataset_versions(parts.front().directory, parts.front().version);
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
  if (versions.empty()) {
    throw Error(ErrorCode::not_found, fmt::format("the state saw version {}, which is none of this dataset's", *id),
                {.path = spec, .hint = "`bale log` lists those that it has"});
  }
}

std::string change_text(const DatasetVersion& version) {
  if (version.parent.empty()) return "made by " + printable(version.created_by);
  std::string text = fmt::format("{} {}", printable(version.change.verb), plural(version.change.num_samples, "sample"));
  if (!version.change.message.empty()) text += ": " + printable(version.change.message);
  return text;
}

Json version_json(const DatasetVersion& version) {
  Json out{{"version", version.id},
           {"samples", version.num_samples},
           {"shards", version.num_shards},
           {"bytes", version.num_bytes},
           {"created_by", version.created_by},
           {"parent", version.parent.empty() ? Json() : Json(version.parent)}};
  if (!version.parent.empty()) {
    out["change"] = {{"verb", version.change.verb},
                     {"samples", version.change.num_samples},
                     {"message", bytes_to_json(version.change.message)}};
  }
  return out;
}

}  // namespace

int run_log(const LogCommand& command, Terminal& terminal) {
  std::vector<DatasetVersion> versions = versions_of(command.spec);
  if (!command.state.empty()) keep_found(command.spec, command.state, versions);
  if (command.json) {
    Json list = Json::array();
    for (const DatasetVersion& version : versions) list.push_back(version_json(version));
    terminal.print(json_document({{"spec", shown_json(command.spec)}, {"versions", std::move(list)}}));
    return k_exit_ok;
  }
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::left});
  table.add({"VERSION", "SAMPLES", "SHARDS", "SIZE", "CHANGE"});
  for (const DatasetVersion& version : versions) {
    table.add({version.id, human_count(version.num_samples), human_count(version.num_shards),
               human_bytes(version.num_bytes), change_text(version)});
  }
  terminal.print(table.text());
  return k_exit_ok;
}

}  // namespace bale::tools
