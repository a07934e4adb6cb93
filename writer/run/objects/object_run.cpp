#include "bale/writer/run/objects/object_run.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_version = 1;

}  // namespace

std::string run_to_text(const ObjectRun& run) {
  return Json{{"version", k_version},
              {"plan", run.plan},
              {"facts", Json::object_of(run.facts)},
              {"owner", run.owner},
              {"parts", run.is_parts},
              {"files", bytes_list_to_json(run.files)},
              {"replaced", bytes_list_to_json(run.replaced)}}
      .dump({.sorted = true});
}

ObjectRun run_from_text(std::string_view text, const std::string& path) {
  try {
    const Json json = parse_json(text);
    if (json.count("version") > k_version) {
      throw Error(ErrorCode::unsupported, "was written by a newer version of bale",
                  {.path = path, .hint = "use that version, or remove the objects of the unfinished run"});
    }
    return {.plan = json.text("plan"),
            .facts = facts_from(json),
            .owner = json.text("owner"),
            .is_parts = json.truth("parts"),
            .files = json.bytes_list("files"),
            .replaced = json.bytes_list("replaced")};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    throw Error(ErrorCode::damaged, "is not a record of an unfinished run",
                {.path = path, .hint = "remove it, or start again with `overwrite`"});
  }
}

}  // namespace bale
