#include "bale/writer/plan_head.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/writer/image_edits.hpp"
#include "bale/writer/source/saved_kinds.hpp"
#include "bale_version.hpp"

namespace bale {
namespace {

using Json = nlohmann::json;

/// What determines the bytes and is not an option: all parts must agree in it.
Json maker_of(const PackOptions& options) {
  return {{"bale", k_version_text}, {"edits", describe_edits(options.edits, !options.format.layout->keeps_bytes)}};
}

Json edits_to_json(const ImageEdits& edits) {
  return {{"resize_short", edits.resize_short},
          {"resize_max", edits.resize_max},
          {"quality", edits.quality ? Json(*edits.quality) : Json()},
          {"orient", edits.orient},
          {"strip_metadata", edits.strip_metadata},
          {"jpeg_lossless", edits.jpeg_lossless}};
}

ImageEdits edits_from_json(const Json& json) {
  ImageEdits edits{.resize_short = json.at("resize_short"),
                   .resize_max = json.at("resize_max"),
                   .orient = json.at("orient"),
                   .strip_metadata = json.at("strip_metadata"),
                   .jpeg_lossless = json.at("jpeg_lossless")};
  if (!json.at("quality").is_null()) edits.quality = json.at("quality").get<int>();
  return edits;
}

Json to_json(const PackOptions& options) {
  return {{"destination", bytes_to_json(options.destination)},
          {"format", options.format.format->name},
          {"layout", options.format.layout->name},
          {"format_options", options.format_options},
          {"compress_level", options.compress_level ? Json(*options.compress_level) : Json()},
          {"edits", edits_to_json(options.edits)},
          {"max_pixels", options.max_pixels},
          {"check_images", options.check_images},
          {"seek_points", options.seek_points},
          {"sidecars", options.sidecars},
          {"on_error", on_error_name(options.on_error)}};
}

PackOptions options_from_json(const Json& json) {
  PackOptions options{.destination = bytes_from_json(json.at("destination"))};
  options.format = find_format(json.at("format").get<std::string>(), json.at("layout").get<std::string>());
  options.format_options = json.at("format_options").get<std::map<std::string, std::string>>();
  if (!json.at("compress_level").is_null()) options.compress_level = json.at("compress_level").get<int>();
  options.edits = edits_from_json(json.at("edits"));
  options.max_pixels = count_from_json(json.at("max_pixels"));
  options.check_images = json.at("check_images");
  options.seek_points = json.at("seek_points");
  options.sidecars = json.at("sidecars").get<std::vector<std::string>>();
  options.on_error = json.at("on_error") == "skip" ? OnError::skip : OnError::fail;
  options.mode = DestinationMode::resume;
  return options;
}

}  // namespace

std::string plan_head_text(const PlanHead& head) {
  Json datasets = Json::array();
  for (const PlannedDataset& dataset : head.plan.datasets) {
    datasets.push_back({{"name", dataset.name}, {"subdirectory", dataset.subdirectory}});
  }
  const Json json{{"maker", maker_of(head.options)},
                  {"options", to_json(head.options)},
                  {"datasets", datasets},
                  {"samples", head.plan.num_samples},
                  {"bytes", head.plan.num_bytes},
                  {"plan", head.plan.fingerprint},
                  {"directory", bytes_to_json(head.directory)},
                  {"classes", bytes_list_to_json(head.classes)},
                  {"earlier_edits", head.earlier_edits},
                  {"encoded_keys", head.encoded_keys},
                  {"losses", losses_to_json(head.losses)},
                  {"source", head.source}};
  return json.dump();
}

PlanHead parse_plan_head(std::string_view text, const std::string& path) {
  const Json json = parse_json(text);
  const Json& maker = json.at("maker");
  if (maker.at("bale") != k_version_text) {
    throw Error(ErrorCode::unsupported,
                fmt::format("bale {} made this plan, this is bale {}", printable(maker.at("bale").get<std::string>()),
                            k_version_text),
                {.path = path, .hint = "plan and pack with one version, so that all parts have the same bytes"});
  }
  PlanHead head{.options = options_from_json(json.at("options")),
                .classes = bytes_list_from_json(json.at("classes")),
                .earlier_edits = json.at("earlier_edits").get<std::map<std::string, std::string>>(),
                .encoded_keys = json.at("encoded_keys"),
                .losses = losses_from_json(json.at("losses")),
                .source = json.at("source"),
                .directory = bytes_from_json(json.at("directory"))};
  if (maker != maker_of(head.options)) {
    throw Error(
        ErrorCode::unsupported, "another JPEG encoder is installed here than where the plan was made",
        {.path = path, .hint = "use the same libjpeg-turbo on all machines, so that all parts have the same bytes"});
  }
  for (const Json& dataset : json.at("datasets")) {
    const std::string name = dataset.at("name");
    const std::string subdirectory = dataset.at("subdirectory");
    if (!is_plain_name(name) || (!subdirectory.empty() && !is_plain_name(subdirectory))) {
      throw Error(ErrorCode::damaged, "a dataset of the plan has no plain name", {.path = path});
    }
    head.plan.datasets.push_back({.name = name, .subdirectory = subdirectory, .order = {}, .shards = {}});
  }
  head.plan.num_samples = count_from_json(json.at("samples"));
  head.plan.num_bytes = count_from_json(json.at("bytes"));
  head.plan.fingerprint = json.at("plan");
  return head;
}

}  // namespace bale
