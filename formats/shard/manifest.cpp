#include "bale/formats/shard/manifest.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

using Json = nlohmann::ordered_json;
using Parsed = nlohmann::json;

constexpr std::uint64_t k_schema_version = 1;
constexpr const char* k_encoded_keys = "encoded";
constexpr std::uint64_t k_max_manifest_bytes = std::uint64_t{1} << 30;

/// The text between the other members and the checksum, which covers all text before this one.
constexpr std::string_view k_before_checksum = ",\n \"checksum\": ";
/// The number of members that are always present. An edited manifest may lack the checksum.
constexpr std::size_t k_members_without_checksum = 11;

/// What follows `body`, which is the text up to the comma before the checksum.
std::string seal_of(std::string_view body) {
  DigestStream stream;
  stream.update(as_bytes(body));
  return fmt::format("{}\"{}\"\n}}\n", k_before_checksum, digest_text(stream.digest()));
}

/// Throws `damaged` if the text is not as it was written.
void check_seal(const std::string& text, const std::string& path) {
  if (const auto end = text.rfind(k_before_checksum);
      end != std::string::npos && std::string_view(text).substr(end) == seal_of(std::string_view(text).substr(0, end))) {
    return;
  }
  throw Error(ErrorCode::damaged, "the manifest does not match its own checksum",
              {.path = path, .hint = "copy it again; if it was edited on purpose, remove its member \"checksum\""});
}

/// Shards and sidecars are files beside the manifest. A name that points elsewhere is refused.
void check_file_name(const std::string& file, const std::string& path) {
  if (!is_plain_name(file)) {
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not a plain file name", printable(file)), {.path = path});
  }
}

std::string text_member(const Parsed& object, const char* name) {
  return text_from_json(json_member(object, name), name);
}

std::vector<std::string> optional_texts(const Parsed& object, const char* name) {
  return object.contains(name) ? texts_from_json(object[name], name) : std::vector<std::string>{};
}

/// The array `name`. Throws `damaged` if it is not an array.
const Parsed& list_member(const Parsed& object, const char* name) {
  const Parsed& list = json_member(object, name);
  if (!list.is_array()) throw Error(ErrorCode::damaged, fmt::format("{} is not a list", name));
  return list;
}

ManifestShard shard_from_json(const Parsed& shard, const std::string& path) {
  ManifestShard result{.file = text_member(shard, "file"),
                       .digest = text_member(shard, "digest"),
                       .num_samples = count_from_json(json_member(shard, "num_samples")),
                       .bytes = count_from_json(json_member(shard, "bytes")),
                       .sidecars = optional_texts(shard, "sidecars")};
  check_file_name(result.file, path);
  for (const std::string& file : result.sidecars) check_file_name(file, path);
  return result;
}

/// The shards of a manifest, or why one of them is none: another program's manifest may have members of this name.
struct TakenShards {
  std::vector<ManifestShard> list{};
  std::exception_ptr failure{};

  void add(const Parsed& shard, const std::string& path) {
    if (failure) return;
    try {
      list.push_back(shard_from_json(shard, path));
    } catch (const Error&) {
      failure = std::current_exception();
    }
  }
};

/// Parses a manifest. Its shards are taken out of the tree one by one, because a tree of a million takes ten times as much
/// memory: `shards` gets them, and the list of the tree is empty, unless it has elements that are no objects.
Parsed parse_without_shards(const std::string& text, const std::string& path, TakenShards& shards) {
  enum Depth : int { k_members = 1, k_elements = 2 };
  bool is_shards = false;  // the member of the root
  bool is_list = false;
  const auto take = [&](int depth, Parsed::parse_event_t event, Parsed& parsed) {
    if (event == Parsed::parse_event_t::key && depth == k_members) {
      is_shards = parsed == "shards";
      is_list = false;
      if (is_shards) shards = {};  // of members of the same name, the last counts
    } else if (is_shards && event == Parsed::parse_event_t::array_start && depth == k_members) {
      is_list = true;
    } else if (is_list && event == Parsed::parse_event_t::object_end && depth == k_elements) {
      shards.add(parsed, path);
      return false;
    }
    return true;
  };
  try {
    return Parsed::parse(text, take);
  } catch (const Parsed::parse_error& error) {
    throw Error(ErrorCode::damaged, fmt::format("not JSON from byte {} on", error.byte));
  }
}

void check_version(const Parsed& root, const std::string& path) {
  const std::uint64_t version = count_from_json(json_member(root, "bale_manifest"));
  if (version == k_schema_version) return;
  throw Error(ErrorCode::unsupported, fmt::format("manifest version {}, this bale reads {}", version, k_schema_version),
              {.path = path, .hint = "use a newer bale"});
}

/// The caller adds the path to errors without one.
Manifest manifest_from_json(const Parsed& root, TakenShards shards, bool has_checksum, const std::string& path) {
  check_version(root, path);
  const std::size_t num_optional = root.count("lists") + root.count("edits") + root.count("keys");
  if (!has_checksum && root.size() != k_members_without_checksum + num_optional) {
    throw Error(ErrorCode::damaged, "its checksum is missing");
  }
  Manifest manifest{.name = text_member(root, "name"),
                    .format = text_member(root, "format"),
                    .layout = text_member(root, "layout"),
                    .num_samples = count_from_json(json_member(root, "num_samples")),
                    .num_skipped = count_from_json(json_member(root, "num_skipped"))};
  for (const Parsed& field : list_member(root, "fields")) {
    manifest.fields.push_back({.name = bytes_from_json(json_member(field, "name")),
                               .codec = text_member(field, "codec"),
                               .stored_bytes = count_from_json(json_member(field, "stored_bytes"))});
  }
  for (const Parsed& name : list_member(root, "classes")) manifest.classes.push_back(bytes_from_json(name));
  std::uint64_t num_samples = 0;
  if (!list_member(root, "shards").empty()) throw Error(ErrorCode::damaged, "a shard is not a JSON object");
  if (shards.failure) std::rethrow_exception(shards.failure);
  manifest.shards = std::move(shards.list);
  for (const ManifestShard& shard : manifest.shards) num_samples += shard.num_samples;
  if (num_samples != manifest.num_samples) throw Error(ErrorCode::damaged, "its shards do not add up to num_samples");
  manifest.lists = optional_texts(root, "lists");
  for (const std::string& file : manifest.lists) check_file_name(file, path);
  if (root.contains("edits")) {
    if (!root["edits"].is_object()) throw Error(ErrorCode::damaged, "edits is not a JSON object");
    for (const auto& [name, value] : root["edits"].items()) manifest.edits[name] = text_from_json(value, "edits");
  }
  manifest.encoded_keys = root.contains("keys") && text_member(root, "keys") == k_encoded_keys;
  manifest.plan = text_member(root, "plan");
  manifest.created_by = text_member(root, "created_by");
  return manifest;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Json fields = Json::array();
  for (const ManifestField& field : manifest.fields) {
    fields.push_back(
        {{"name", Json(bytes_to_json(field.name))}, {"codec", field.codec}, {"stored_bytes", field.stored_bytes}});
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
  const std::string_view body = std::string_view(text).substr(0, text.size() - 2);  // without "\n}"
  return std::string(body) + seal_of(body);
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  try {
    TakenShards shards;
    const Parsed root = parse_without_shards(text, path, shards);
    const bool has_checksum = root.contains("checksum");
    if (!has_checksum && !root.contains("bale_manifest")) {
      throw Error(
          ErrorCode::unsupported, "a manifest.json of another program",
          {.path = path, .hint = "name the shards beside it, or pack the folder with `bale pack --source folder`"});
    }
    if (has_checksum) check_seal(text, path);
    return manifest_from_json(root, std::move(shards), has_checksum, path);
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    throw Error(ErrorCode::damaged, fmt::format("not a valid manifest: {}", error.what()), {.path = path});
  }
}

Manifest load_manifest(const std::string& path) {
  return read_twice_if_damaged(path, [&] {
    const std::string text(as_text(read_file(path, k_max_manifest_bytes)));
    return parse_manifest(text, path);
  });
}

}  // namespace bale
