#include "bale/writer/objects/object_run.hpp"

#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"

namespace bale {
namespace {

constexpr int k_version = 1;

nlohmann::json names_to_json(const std::vector<std::string>& names) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& name : names) list.push_back(bytes_to_json(name));
  return list;
}

std::vector<std::string> names_from_json(const nlohmann::json& list) {
  std::vector<std::string> names;
  for (const nlohmann::json& name : list) names.push_back(bytes_from_json(name));
  return names;
}

}  // namespace

std::string run_to_text(const ObjectRun& run) {
  return nlohmann::json{{"version", k_version},
                        {"plan", run.plan},
                        {"owner", run.owner},
                        {"parts", run.is_parts},
                        {"files", names_to_json(run.files)},
                        {"replaced", names_to_json(run.replaced)}}
      .dump();
}

ObjectRun run_from_text(std::string_view text, const std::string& path) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    if (json.at("version").get<int>() > k_version) {
      throw Error(ErrorCode::unsupported, "was written by a newer version of bale",
                  {.path = path, .hint = "use that version, or remove the objects of the unfinished run"});
    }
    return {.plan = json.at("plan").get<std::string>(),
            .owner = json.at("owner").get<std::string>(),
            .is_parts = json.at("parts").get<bool>(),
            .files = names_from_json(json.at("files")),
            .replaced = names_from_json(json.at("replaced"))};
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::damaged, "is no record of an unfinished run",
                {.path = path, .hint = "remove it, or start again with `overwrite`"});
  }
}

}  // namespace bale
