#include "bale/writer/plan/plan_head.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/source/saved/saved_source.hpp"

namespace bale {
namespace {

/// What determines the bytes and is not an option: all parts must agree in it.
Json maker_of(const PackOptions& options) {
  return {{"bale", version()},
          {"edits", Json::object_of(describe_edits(options.edits, !options.format.layout->keeps_bytes))}};
}

Json to_json(const PackOptions& options) {
  Json json = stored_options(options);
  json.update({{"destination", bytes_to_json(options.destination)},
               {"format", options.format.format->name},
               {"layout", options.format.layout->name},
               {"format_options", Json::object_of(options.format_options)}});
  return json;
}

std::map<std::string, std::string> texts_by_name(const Json& json, const char* name) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : json.members(name)) texts[key] = value.as_text(key);
  return texts;
}

PackOptions options_from_json(const Json& json) {
  PackOptions options{.destination = json.bytes("destination")};
  options.format = find_format(json.text("format"), json.text("layout"));
  options.format_options = texts_by_name(json, "format_options");
  load_stored_options(json, options);
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
                  {"earlier_edits", Json::object_of(head.earlier_edits)},
                  {"keys", key_form_name(head.keys)},
                  {"losses", losses_to_json(head.losses)},
                  {"source", head.source}};
  return json.dump({.sorted = true});
}

PlanHead parse_plan_head(std::string_view text, const std::string& path) {
  const Json json = parse_json(text);
  const Json& maker = json.at("maker");
  if (maker.text("bale") != version()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("bale {} made this plan, this is bale {}", printable(maker.text("bale")), version()),
                {.path = path, .hint = "plan and pack with one version, so that all parts have the same bytes"});
  }
  PlanHead head{.options = options_from_json(json.at("options")),
                .classes = json.bytes_list("classes"),
                .earlier_edits = texts_by_name(json, "earlier_edits"),
                .keys = json.contains("keys")        ? key_form_named(json.text("keys"))
                        : json.truth("encoded_keys") ? KeyForm::encoded
                                                     : KeyForm::plain,
                .losses = losses_from_json(json.list("losses")),
                .source = json.text("source"),
                .directory = json.bytes("directory")};
  if (maker.dump() != maker_of(head.options).dump({.sorted = true})) {
    throw Error(
        ErrorCode::unsupported, "this machine has a different JPEG encoder than the one that made the plan",
        {.path = path, .hint = "use the same libjpeg-turbo on all machines, so that all parts have the same bytes"});
  }
  for (const Json& dataset : json.list("datasets")) {
    const std::string& name = dataset.text("name");
    const std::string& subdirectory = dataset.text("subdirectory");
    if (!is_plain_name(name) || (!subdirectory.empty() && !is_plain_name(subdirectory))) {
      throw Error(ErrorCode::damaged, "a dataset of the plan has no plain name", {.path = path});
    }
    head.plan.datasets.push_back({.name = name, .subdirectory = subdirectory, .order = {}, .shards = {}});
  }
  head.plan.num_samples = json.count("samples");
  head.plan.num_bytes = json.count("bytes");
  head.plan.fingerprint = json.text("plan");
  return head;
}

}  // namespace bale
