#include "bale/formats/core/manifest.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/file.hpp"
#include "bale/formats/core/json_bytes.hpp"

namespace bale {
namespace {

using Json = nlohmann::ordered_json;

constexpr int k_schema_version = 1;
constexpr std::uint64_t k_max_manifest_bytes = std::uint64_t{1} << 30;

/// Shards and sidecars are files beside the manifest; a name that points elsewhere is not ours to follow.
void check_file_name(const std::string& file, const std::string& path) {
  if (file.empty() || file.find('/') != std::string::npos || file == "." || file == "..") {
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not a plain file name", printable(file)),
                {.path = path});
  }
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Json fields = Json::array();
  for (const ManifestField& field : manifest.fields) {
    fields.push_back({{"name", field.name}, {"codec", field.codec}, {"stored_bytes", field.stored_bytes}});
  }
  Json classes = Json::array();
  for (const std::string& name : manifest.classes) classes.push_back(Json(bytes_to_json(name)));
  Json shards = Json::array();
  for (const ManifestShard& shard : manifest.shards) {
    shards.push_back(
        {{"file", shard.file}, {"num_samples", shard.num_samples}, {"bytes", shard.bytes}, {"digest", shard.digest}});
    if (!shard.sidecars.empty()) shards.back()["sidecars"] = shard.sidecars;
  }
  Json root = {{"bale_manifest", k_schema_version},
               {"name", manifest.name},
               {"format", manifest.format},
               {"layout", manifest.layout},
               {"num_samples", manifest.num_samples},
               {"num_skipped", manifest.num_skipped},
               {"fields", fields},
               {"classes", classes},
               {"shards", shards}};
  if (!manifest.lists.empty()) root["lists"] = manifest.lists;
  if (!manifest.edits.empty()) root["edits"] = manifest.edits;
  root["plan"] = manifest.plan;
  root["created_by"] = manifest.created_by;
  return root.dump(1) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  const auto damaged = [&path](std::string_view why) {
    return Error(ErrorCode::damaged, fmt::format("not a valid manifest: {}", why), {.path = path});
  };
  try {
    const auto root = nlohmann::json::parse(text);
    const int version = root.at("bale_manifest").get<int>();
    if (version != k_schema_version) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("manifest version {}, this bale reads {}", version, k_schema_version),
                  {.path = path, .hint = "use a newer bale"});
    }
    Manifest manifest{.name = root.at("name"),
                      .format = root.at("format"),
                      .layout = root.at("layout"),
                      .num_samples = root.at("num_samples"),
                      .num_skipped = root.at("num_skipped")};
    for (const auto& field : root.at("fields")) {
      manifest.fields.push_back(
          {.name = field.at("name"), .codec = field.at("codec"), .stored_bytes = field.at("stored_bytes")});
    }
    for (const auto& name : root.at("classes")) manifest.classes.push_back(bytes_from_json(name));
    std::uint64_t num_samples = 0;
    for (const auto& shard : root.at("shards")) {
      manifest.shards.push_back({.file = shard.at("file"),
                                 .digest = shard.at("digest"),
                                 .num_samples = shard.at("num_samples"),
                                 .bytes = shard.at("bytes"),
                                 .sidecars = shard.value("sidecars", std::vector<std::string>{})});
      check_file_name(manifest.shards.back().file, path);
      for (const std::string& file : manifest.shards.back().sidecars) check_file_name(file, path);
      num_samples += manifest.shards.back().num_samples;
    }
    if (num_samples != manifest.num_samples) throw damaged("its shards do not add up to num_samples");
    manifest.lists = root.value("lists", std::vector<std::string>{});
    for (const std::string& file : manifest.lists) check_file_name(file, path);
    if (root.contains("edits")) manifest.edits = root.at("edits").get<std::map<std::string, std::string>>();
    manifest.plan = root.at("plan");
    manifest.created_by = root.at("created_by");
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    throw damaged(error.what());
  }
}

Manifest load_manifest(const std::string& path) {
  const std::vector<std::byte> content = read_file(path, k_max_manifest_bytes);
  return parse_manifest(std::string(as_text(content)), path);
}

}  // namespace bale
