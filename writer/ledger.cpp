#include "bale/writer/ledger.hpp"

#include <nlohmann/json.hpp>

#include "bale/formats/base/json_bytes.hpp"

namespace bale {

using Json = nlohmann::json;

Json skipped_to_json(const SkippedSample& sample) {
  Json line{{"origin", bytes_to_json(sample.origin)}, {"why", bytes_to_json(sample.why)}};
  if (!sample.num_samples) line["samples"] = nullptr;
  if (sample.num_samples && *sample.num_samples != 1) line["samples"] = *sample.num_samples;
  for (const std::string& copy : sample.quarantined) line["quarantined"].push_back(bytes_to_json(copy));
  return line;
}

SkippedSample skipped_from_json(const Json& line) {
  SkippedSample sample{.origin = bytes_from_json(line.at("origin")), .why = bytes_from_json(line.at("why"))};
  if (const auto count = line.find("samples"); count != line.end()) {
    sample.num_samples = count->is_null() ? std::nullopt : std::optional<std::uint64_t>(count_from_json(*count));
  }
  for (const Json& copy : line.value("quarantined", Json::array())) sample.quarantined.push_back(bytes_from_json(copy));
  return sample;
}

}  // namespace bale
