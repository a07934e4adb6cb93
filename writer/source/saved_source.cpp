#include "bale/writer/source/saved_source.hpp"

#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/writer/source/saved_kinds.hpp"

namespace bale {

using Json = nlohmann::json;

std::string Source::save_head() const {
  throw Error(ErrorCode::unsupported, "samples of this source cannot be planned", {.hint = "pack them in one run"});
}

void Source::save(std::uint64_t, std::string&) const {}

Json bytes_list_to_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(bytes_to_json(text));
  return list;
}

std::vector<std::string> bytes_list_from_json(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list) texts.push_back(bytes_from_json(text));
  return texts;
}

Json losses_to_json(const std::vector<SourceLoss>& losses) {
  Json list = Json::array();
  for (const SourceLoss& loss : losses) {
    list.push_back({{"path", bytes_to_json(loss.path)},
                    {"why", bytes_to_json(loss.why)},
                    {"samples", loss.num_samples ? Json(*loss.num_samples) : Json()}});
  }
  return list;
}

std::vector<SourceLoss> losses_from_json(const Json& list) {
  std::vector<SourceLoss> losses;
  for (const Json& loss : list) {
    losses.push_back({.path = bytes_from_json(loss.at("path")), .why = bytes_from_json(loss.at("why"))});
    if (!loss.at("samples").is_null()) losses.back().num_samples = count_from_json(loss.at("samples"));
  }
  return losses;
}

std::unique_ptr<SavedSource> SavedSource::open(std::string_view head) {
  try {
    const Json json = parse_json(head);
    const std::string kind = json.at("kind");
    if (kind == k_saved_files) return open_saved_files(json);
    if (kind == k_saved_packed) return open_saved_packed(json);
  } catch (const Json::exception&) {
  }
  throw Error(ErrorCode::damaged, "the plan does not describe its source");
}

}  // namespace bale
