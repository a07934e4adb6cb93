#include "bale/formats/core/manifest.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/core/checksum.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/formats/core/file.hpp"
#include "bale/formats/core/json_bytes.hpp"

namespace bale {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t k_schema_version = 1;
constexpr const char* k_encoded_keys = "encoded";
constexpr std::uint64_t k_max_manifest_bytes = std::uint64_t{1} << 30;

/// What stands between the other members and the checksum of all before it.
constexpr std::string_view k_before_checksum = ",\n \"checksum\": ";
/// The members that there always are; a manifest may have been edited, and its checksum taken out.
constexpr std::size_t k_members_without_checksum = 11;

/// `body` is the text up to the comma before the checksum.
std::string sealed(std::string_view body) {
  DigestStream stream;
  stream.update(as_bytes(body));
  return fmt::format("{}{}\"{}\"\n}}\n", body, k_before_checksum, digest_text(stream.digest()));
}

/// Throws `damaged` where the text is not as it was written.
void check_seal(const std::string& text, const std::string& path) {
  if (const auto end = text.rfind(k_before_checksum);
      end != std::string::npos && text == sealed(std::string_view(text).substr(0, end))) {
    return;
  }
  throw Error(ErrorCode::damaged, "the manifest does not match its own checksum",
              {.path = path, .hint = "copy it again; if it was edited on purpose, remove its member \"checksum\""});
}

/// Shards and sidecars are files beside the manifest; a name that points elsewhere is not ours to follow.
void check_file_name(const std::string& file, const std::string& path) {
  if (!is_plain_name(file)) {
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
  if (manifest.encoded_keys) root["keys"] = k_encoded_keys;
  root["plan"] = manifest.plan;
  root["created_by"] = manifest.created_by;
  const std::string text = root.dump(1);
  return sealed(std::string_view(text).substr(0, text.size() - 2));  // without "\n}"
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  const auto damaged = [&path](std::string_view why) {
    return Error(ErrorCode::damaged, fmt::format("not a valid manifest: {}", why), {.path = path});
  };
  try {
    const auto root = nlohmann::json::parse(text);
    const bool has_checksum = root.contains("checksum");
    if (has_checksum) check_seal(text, path);
    const std::uint64_t version = count_from_json(root.at("bale_manifest"));
    if (version != k_schema_version) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("manifest version {}, this bale reads {}", version, k_schema_version),
                  {.path = path, .hint = "use a newer bale"});
    }
    const std::size_t num_optional = root.count("lists") + root.count("edits") + root.count("keys");
    if (!has_checksum && root.size() != k_members_without_checksum + num_optional) {
      throw damaged("its checksum is missing");
    }
    Manifest manifest{.name = root.at("name"),
                      .format = root.at("format"),
                      .layout = root.at("layout"),
                      .num_samples = count_from_json(root.at("num_samples")),
                      .num_skipped = count_from_json(root.at("num_skipped"))};
    for (const auto& field : root.at("fields")) {
      manifest.fields.push_back(
          {.name = field.at("name"),
           .codec = field.at("codec"),
           .stored_bytes = count_from_json(field.at("stored_bytes"))});
    }
    for (const auto& name : root.at("classes")) manifest.classes.push_back(bytes_from_json(name));
    std::uint64_t num_samples = 0;
    for (const auto& shard : root.at("shards")) {
      manifest.shards.push_back({.file = shard.at("file"),
                                 .digest = shard.at("digest"),
                                 .num_samples = count_from_json(shard.at("num_samples")),
                                 .bytes = count_from_json(shard.at("bytes")),
                                 .sidecars = shard.value("sidecars", std::vector<std::string>{})});
      check_file_name(manifest.shards.back().file, path);
      for (const std::string& file : manifest.shards.back().sidecars) check_file_name(file, path);
      num_samples += manifest.shards.back().num_samples;
    }
    if (num_samples != manifest.num_samples) throw damaged("its shards do not add up to num_samples");
    manifest.lists = root.value("lists", std::vector<std::string>{});
    for (const std::string& file : manifest.lists) check_file_name(file, path);
    if (root.contains("edits")) manifest.edits = root.at("edits").get<std::map<std::string, std::string>>();
    manifest.encoded_keys = root.value("keys", std::string()) == k_encoded_keys;
    manifest.plan = root.at("plan");
    manifest.created_by = root.at("created_by");
    return manifest;
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    throw damaged(error.what());
  } catch (const nlohmann::json::exception& error) {
    throw damaged(error.what());
  }
}

Manifest load_manifest(const std::string& path) {
  const std::vector<std::byte> content = read_file(path, k_max_manifest_bytes);
  return parse_manifest(std::string(as_text(content)), path);
}

}  // namespace bale
