#include "bale/writer/journal/ledger.hpp"

#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/without_secrets.hpp"

namespace bale {

Json skipped_to_json(const SkippedSample& sample) {
  Json line{{"origin", bytes_to_json(without_secrets(sample.origin))},
            {"why", bytes_to_json(without_secrets(sample.why))}};
  if (!sample.num_samples) line["samples"] = Json();
  if (sample.num_samples && *sample.num_samples != 1) line["samples"] = *sample.num_samples;
  for (const std::string& copy : sample.quarantined) line["quarantined"].push_back(bytes_to_json(copy));
  return line;
}

SkippedSample skipped_from_json(const Json& line) {
  SkippedSample sample{.origin = line.bytes("origin"), .why = line.bytes("why")};
  if (const Json* const count = line.find("samples")) {
    sample.num_samples = count->is_null() ? std::nullopt : std::optional(count->as_count("samples"));
  }
  if (line.contains("quarantined")) sample.quarantined = line.bytes_list("quarantined");
  return sample;
}

}  // namespace bale
