#include "bale/formats/mds/directory_list.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale::mds {
namespace {

constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 30;

/// The uncompressed file of a shard. Its size is compared here if the file is local; for one on a server, opening does.
std::string shard_name(const std::string& directory, const nlohmann::json& shard) {
  const std::string& format = text_from_json(json_member(shard, "format"), "format");
  if (format != "mds") {
    throw Error(ErrorCode::unsupported, fmt::format("lists shards of the format \"{}\"", printable(format)),
                {.hint = "write them again with MDSWriter"});
  }
  const nlohmann::json& raw = json_member(shard, "raw_data");
  const std::string& name = text_from_json(json_member(raw, "basename"), "basename");
  if (!is_plain_name(name)) throw Error(ErrorCode::damaged, "lists a shard outside its directory");
  const std::string path = join_name(directory, name);
  if (remote_storage_of(directory) != nullptr) {
    const nlohmann::json& compressed = json_member(shard, "zip_data");
    if (!compressed.is_null() && !path_exists(path)) {
      throw Error(ErrorCode::unsupported, "lists compressed shards", {.hint = "decompress them and upload them again"});
    }
    return name;
  }
  const auto bytes = file_size(path);
  if (!bytes) {
    const bool is_compressed = !json_member(shard, "zip_data").is_null();
    throw Error(
        is_compressed ? ErrorCode::unsupported : ErrorCode::not_found,
        fmt::format("the shard \"{}\" that it lists is not there", printable(name)),
        {.hint = is_compressed ? "decompress the shards: `zstd -d --rm *.mds.zstd` for zstd" : "copy it again"});
  }
  if (*bytes != count_from_json(json_member(raw, "bytes"))) {
    throw Error(ErrorCode::damaged, fmt::format("the shard \"{}\" has {} bytes, not those it lists", name, *bytes),
                {.hint = "copy it again"});
  }
  return name;
}

bool is_list(const nlohmann::json& value) {
  if (!value.is_object() || !value.contains("version") || !value.contains("shards")) return false;
  const nlohmann::json& shards = value["shards"];
  return shards.is_array() && !shards.empty() && shards[0].is_object() && shards[0].contains("column_encodings");
}

}  // namespace

std::optional<std::vector<std::string>> list_directory(const std::string& directory) {
  const std::string path = join_name(directory, "index.json");
  if (!path_exists(path)) return std::nullopt;
  const std::vector<std::byte> bytes = read_file(path, k_max_bytes);
  nlohmann::json list;
  try {
    list = parse_json(as_text(bytes));
    if (!is_list(list)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // another program's file
  }
  std::vector<std::string> names;
  try {
    for (const nlohmann::json& shard : list["shards"]) names.push_back(shard_name(directory, shard));
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.path = path, .hint = error.context().hint});
  }
  return names;
}

}  // namespace bale::mds
