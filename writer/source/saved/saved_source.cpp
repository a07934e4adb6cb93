#include "bale/writer/source/saved/saved_source.hpp"

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale {

std::string Source::save_head() const {
  throw Error(ErrorCode::unsupported, "samples of this source cannot be planned", {.hint = "pack them in one run"});
}

void Source::save(std::uint64_t, std::string&) const {}

Json losses_to_json(const std::vector<SourceLoss>& losses) {
  Json list = Json::array();
  for (const SourceLoss& loss : losses) {
    list.push_back({{"path", bytes_to_json(loss.path)},
                    {"why", bytes_to_json(loss.why)},
                    {"samples", loss.num_samples ? Json(*loss.num_samples) : Json()}});
  }
  return list;
}

std::vector<SourceLoss> losses_from_json(const std::vector<Json>& list) {
  std::vector<SourceLoss> losses;
  for (const Json& loss : list) {
    losses.push_back({.path = loss.bytes("path"), .why = loss.bytes("why")});
    if (!loss.at("samples").is_null()) losses.back().num_samples = loss.count("samples");
  }
  return losses;
}

std::unique_ptr<SavedSource> SavedSource::open(std::string_view head) {
  try {
    const Json json = parse_json(head);
    const std::string& kind = json.text("kind");
    if (kind == k_saved_files) return open_saved_files(json);
    if (kind == k_saved_packed) return open_saved_packed(json);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged || !error.context().path.empty()) throw;
  }
  throw Error(ErrorCode::damaged, "the plan does not describe its source");
}

}  // namespace bale
