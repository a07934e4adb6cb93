#include "bale/formats/shard/manifest.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_first_version = 1;
/// Of a dataset with layers or JPEG planes, which readers of schema 1 would ignore or take for damage.
constexpr std::uint64_t k_second_version = 2;
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
      end != std::string::npos &&
      std::string_view(text).substr(end) == seal_of(std::string_view(text).substr(0, end))) {
    return;
  }
  throw Error(ErrorCode::damaged, "the manifest does not match its own checksum",
              {.path = path, .hint = "copy it again; if it was edited on purpose, remove its member \"checksum\""});
}

/// Shards and sidecars are files next to the manifest. A name that points elsewhere is refused.
void check_file_name(const std::string& file, const std::string& path) {
  if (!is_plain_name(file)) {
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" is not a plain file name", printable(file)), {.path = path});
  }
}

/// The digest that a file is named by.
std::string named_digest(const Json& object, const std::string& path) {
  std::string digest = object.text("digest");
  check_file_name(digest, path);
  return digest;
}

/// A version is the name of a file.
std::string version_name(const std::string& id, const std::string& path) {
  check_file_name(id, path);
  return id;
}

std::vector<std::string> optional_texts(const Json& object, const char* name) {
  return object.contains(name) ? object.texts(name) : std::vector<std::string>{};
}

ManifestShard shard_from_json(const Json& shard, const std::string& path) {
  ManifestShard result{.file = shard.text("file"),
                       .digest = shard.text("digest"),
                       .num_samples = shard.count("num_samples"),
                       .bytes = shard.count("bytes"),
                       .sidecars = optional_texts(shard, "sidecars"),
                       .num_removed = shard.contains("num_removed") ? shard.count("num_removed") : 0};
  check_file_name(result.file, path);
  for (const std::string& file : result.sidecars) check_file_name(file, path);
  return result;
}

/// The shards of a manifest, or why one of them is none: another program's manifest may have members of this name. They
/// are taken out of the tree one by one, because a tree of a million takes ten times as much memory.
class TakenShards : public JsonItems {
 public:
  explicit TakenShards(const std::string& path) : path_(path) {}

  void begin() override {
    list_.clear();
    failure_ = {};
  }

  void take(const Json& shard) override {
    if (failure_) return;
    try {
      list_.push_back(shard_from_json(shard, path_));
    } catch (const Error&) {
      failure_ = std::current_exception();
    }
  }

  std::vector<ManifestShard> list() {
    if (failure_) std::rethrow_exception(failure_);
    return std::move(list_);
  }

 private:
  const std::string& path_;
  std::vector<ManifestShard> list_;
  std::exception_ptr failure_;
};

void check_version(const Json& root, const std::string& path) {
  const std::uint64_t version = root.count("bale_manifest");
  if (version == k_first_version || version == k_second_version) return;
  throw Error(ErrorCode::unsupported, fmt::format("manifest version {}, this bale reads {}", version, k_second_version),
              {.path = path, .hint = "use a newer bale"});
}

/// The caller adds the path to errors without one.
Manifest manifest_from_json(const Json& root, TakenShards& shards, bool has_checksum, const std::string& path) {
  check_version(root, path);
  std::size_t num_optional = 0;
  for (const char* const name :
       {"lists", "layers", "removals", "edits", "keys", "label_base", "parent", "change", "next_shard"})
    num_optional += root.contains(name) ? 1 : 0;
  if (!has_checksum && root.size() != k_members_without_checksum + num_optional) {
    throw Error(ErrorCode::damaged, "its checksum is missing");
  }
  Manifest manifest{.name = root.text("name"),
                    .format = root.text("format"),
                    .layout = root.text("layout"),
                    .num_samples = root.count("num_samples"),
                    .num_skipped = root.count("num_skipped")};
  for (const Json& field : root.list("fields")) {
    manifest.fields.push_back(
        {.name = field.bytes("name"), .codec = field.text("codec"), .stored_bytes = field.count("stored_bytes")});
  }
  manifest.classes = root.bytes_list("classes");
  std::uint64_t num_samples = 0;
  if (!root.list("shards").empty()) throw Error(ErrorCode::damaged, "a shard is not a JSON object");
  manifest.shards = shards.list();
  for (const ManifestShard& shard : manifest.shards) num_samples += shard.num_samples;
  if (num_samples != manifest.num_samples) throw Error(ErrorCode::damaged, "its shards do not add up to num_samples");
  manifest.lists = optional_texts(root, "lists");
  for (const std::string& file : manifest.lists) check_file_name(file, path);
  if (root.contains("layers")) {
    for (const Json& layer : root.list("layers")) {
      manifest.layers.push_back({.kind = layer.text("kind"),
                                 .digest = named_digest(layer, path),
                                 .num_rows = layer.count("num_rows"),
                                 .bytes = layer.count("bytes")});
    }
  }
  if (root.contains("removals")) {
    for (const Json& list : root.list("removals"))
      manifest.removals.push_back({.digest = named_digest(list, path), .num_samples = list.count("num_samples")});
  }
  if (root.contains("edits")) {
    for (const auto& [name, value] : root.members("edits")) manifest.edits[name] = value.as_text("edits");
  }
  if (root.contains("keys")) manifest.keys = key_form_named(root.text("keys"));
  if (root.contains("label_base")) manifest.label_base = root.text("label_base");
  manifest.plan = root.text("plan");
  manifest.created_by = root.text("created_by");
  if (root.contains("parent")) manifest.parent = version_name(root.text("parent"), path);
  if (root.contains("change")) {
    const Json& change = root.at("change");
    manifest.change = {.verb = change.text("verb"),
                       .num_samples = change.count("num_samples"),
                       .message = change.contains("message") ? change.bytes("message") : std::string()};
  }
  if (root.contains("next_shard")) manifest.next_shard = root.count("next_shard");
  return manifest;
}

constexpr const char* k_gone_member = "bale_gone_version";

}  // namespace

std::string gone_version_text(const GoneVersion& gone) {
  return Json{{k_gone_member, 1}, {"version", gone.id}, {"why", gone.why}, {"parent", gone.parent}}.dump(
             {.indent = 1}) +
         '\n';
}

std::optional<GoneVersion> parse_gone_version(const std::string& text) {
  constexpr std::size_t k_max_bytes = 4096;
  if (text.size() > k_max_bytes || text.find(k_gone_member) == std::string::npos) return std::nullopt;
  const Json root = parse_json(text);
  if (!root.contains(k_gone_member)) return std::nullopt;
  return GoneVersion{.id = root.text("version"), .why = root.text("why"), .parent = root.text("parent")};
}

std::string_view key_form_name(KeyForm form) {
  return form == KeyForm::encoded ? "encoded" : form == KeyForm::with_extensions ? "with extensions" : "";
}

KeyForm key_form_named(std::string_view name) {
  for (const KeyForm form : {KeyForm::encoded, KeyForm::with_extensions}) {
    if (name == key_form_name(form)) return form;
  }
  return KeyForm::plain;
}

std::string manifest_text(const Manifest& manifest) {
  Json fields = Json::array();
  for (const ManifestField& field : manifest.fields) {
    fields.push_back(
        {{"name", bytes_to_json(field.name)}, {"codec", field.codec}, {"stored_bytes", field.stored_bytes}});
  }
  Json shards = Json::array();
  for (const ManifestShard& shard : manifest.shards) {
    Json listed{
        {"file", shard.file}, {"num_samples", shard.num_samples}, {"bytes", shard.bytes}, {"digest", shard.digest}};
    if (shard.num_removed != 0) listed["num_removed"] = shard.num_removed;
    if (!shard.sidecars.empty()) listed["sidecars"] = Json::list_of(shard.sidecars);
    shards.push_back(std::move(listed));
  }
  const bool has_planes = std::any_of(manifest.fields.begin(), manifest.fields.end(),
                                      [](const ManifestField& field) { return field.codec == name_of(Codec::planes); });
  Json root = {{"bale_manifest", has_planes || !manifest.layers.empty() ? k_second_version : k_first_version},
               {"name", manifest.name},
               {"format", manifest.format},
               {"layout", manifest.layout},
               {"num_samples", manifest.num_samples},
               {"num_skipped", manifest.num_skipped},
               {"fields", std::move(fields)},
               {"classes", bytes_list_to_json(manifest.classes)},
               {"shards", std::move(shards)}};
  if (!manifest.lists.empty()) root["lists"] = Json::list_of(manifest.lists);
  if (!manifest.layers.empty()) {
    Json layers = Json::array();
    for (const ManifestLayer& layer : manifest.layers) {
      layers.push_back(
          {{"kind", layer.kind}, {"num_rows", layer.num_rows}, {"bytes", layer.bytes}, {"digest", layer.digest}});
    }
    root["layers"] = std::move(layers);
  }
  if (!manifest.removals.empty()) {
    Json lists = Json::array();
    for (const ManifestRemovals& list : manifest.removals)
      lists.push_back({{"num_samples", list.num_samples}, {"digest", list.digest}});
    root["removals"] = std::move(lists);
  }
  if (!manifest.edits.empty()) root["edits"] = Json::object_of(manifest.edits);
  if (manifest.keys != KeyForm::plain) root["keys"] = key_form_name(manifest.keys);
  if (!manifest.label_base.empty()) root["label_base"] = manifest.label_base;
  if (!manifest.parent.empty()) {
    root["parent"] = manifest.parent;
    Json change{{"verb", manifest.change.verb}, {"num_samples", manifest.change.num_samples}};
    if (!manifest.change.message.empty()) change["message"] = bytes_to_json(manifest.change.message);
    root["change"] = std::move(change);
  }
  if (manifest.next_shard != 0) root["next_shard"] = manifest.next_shard;
  root["plan"] = manifest.plan;
  root["created_by"] = manifest.created_by;
  const std::string text = root.dump({.indent = 1});
  const std::string_view body = std::string_view(text).substr(0, text.size() - 2);  // without "\n}"
  return std::string(body) + seal_of(body);
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  try {
    if (const std::optional<GoneVersion> gone = parse_gone_version(text)) {
      throw Error(ErrorCode::removed, fmt::format("version {} was {}", printable(gone->id), printable(gone->why)),
                  {.path = path, .hint = "`bale log` lists the versions that are kept"});
    }
    TakenShards shards(path);
    const Json root = parse_json(text, {.taken = "shards", .items = &shards});
    const bool has_checksum = root.contains("checksum");
    if (!has_checksum && !root.contains("bale_manifest")) {
      throw Error(
          ErrorCode::unsupported, "a manifest.json of another program",
          {.path = path, .hint = "name the shards next to it, or pack the folder with `bale pack --source folder`"});
    }
    if (has_checksum) check_seal(text, path);
    return manifest_from_json(root, shards, has_checksum, path);
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

bool is_of_another_program(const std::string& path) {
  std::vector<std::byte> content;
  try {
    content = read_file(path, k_max_manifest_bytes);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return true;  // a directory, a pipe, or too large
    throw;
  }
  const auto has = [&](std::string_view text) { return as_text(content).find(text) != std::string_view::npos; };
  return !has("\"bale_manifest\"") && !has("\"created_by\": \"bale ");  // one of them may be damaged
}

}  // namespace bale
