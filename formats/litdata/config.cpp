#include "bale/formats/litdata/config.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json_bytes.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale::litdata {
namespace {

constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 30;

bool is_index(const nlohmann::json& value) {
  return value.is_object() && value.contains("chunks") && value["chunks"].is_array() && value.contains("config") &&
         value["config"].is_object() && value["config"].contains("data_format");
}

/// A text of the configuration; empty if it is null or absent.
std::string option(const nlohmann::json& config, const char* name) {
  const auto at = config.find(name);
  return at == config.end() || at->is_null() ? std::string() : text_from_json(*at, name);
}

/// Throws `unsupported` for what bale does not read.
void check_layout(const nlohmann::json& config) {
  const std::string loader = option(config, "item_loader");
  if (!loader.empty() && loader != "PyTreeLoader") {
    throw Error(ErrorCode::unsupported, fmt::format("a dataset for LitData's {}", printable(loader)),
                {.hint = "bale reads what PyTreeLoader, the default, reads"});
  }
  if (const auto at = config.find("encryption"); at != config.end() && !at->is_null()) {
    throw Error(ErrorCode::unsupported, "encrypted chunks", {.hint = "write them again without encryption"});
  }
  const std::string compression = option(config, "compression");
  if (!compression.empty() && compression.substr(0, compression.find(':')) != "zstd") {
    throw Error(ErrorCode::unsupported,
                fmt::format("chunks compressed by \"{}\", bale reads zstd", printable(compression)),
                {.hint = "write them again with compression=\"zstd\""});
  }
  const std::string level = option(config, "compression_level");
  if (!level.empty() && level != "chunk" && level != "batch" && level != "sample") {
    throw Error(ErrorCode::unsupported, fmt::format("chunks compressed by the {}", printable(level)));
  }
}

/// The tree that names the leaves: JSON in a text. Null if there is none.
nlohmann::json data_spec(const nlohmann::json& config) {
  const std::string text = option(config, "data_spec");
  return text.empty() ? nlohmann::json() : parse_json(text);
}

Config parse(const nlohmann::json& index) {
  const nlohmann::json& config = index["config"];
  check_layout(config);
  Config found;
  found.compresses_samples = option(config, "compression_level") == "sample";
  found.columns = make_columns(texts_from_json(config["data_format"], "data_format"), data_spec(config));
  if (found.columns.empty()) throw Error(ErrorCode::damaged, "says that samples have no values");
  for (const nlohmann::json& chunk : index["chunks"]) {
    ListedChunk listed{.name = text_from_json(json_member(chunk, "filename"), "filename"),
                       .bytes = count_from_json(json_member(chunk, "chunk_bytes")),
                       .samples = count_from_json(json_member(chunk, "chunk_size"))};
    if (!is_plain_name(listed.name)) throw Error(ErrorCode::damaged, "lists a chunk outside its directory");
    found.chunks.push_back(std::move(listed));
  }
  return found;
}

}  // namespace

std::optional<Config> read_config(const std::string& directory) {
  const std::string path = join_name(directory, "index.json");
  if (!path_exists(path)) return std::nullopt;
  const std::vector<std::byte> bytes = read_file(path, k_max_bytes);
  nlohmann::json index;
  try {
    index = parse_json(as_text(bytes));
    if (!is_index(index)) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // another program's file
  }
  try {
    return parse(index);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.path = path, .hint = error.context().hint});
  }
}

ChunkConfig read_chunk_config(const std::string& path) {
  auto config = read_config(parent_directory(path));
  if (!config) {
    throw Error(ErrorCode::unsupported, "a LitData chunk without the index.json that says what its bytes are",
                {.path = path, .hint = "copy the index.json of its dataset to the same directory"});
  }
  const std::string name = base_name(path);
  const auto listed = std::find_if(config->chunks.begin(), config->chunks.end(),
                                   [&](const ListedChunk& chunk) { return chunk.name == name; });
  if (listed == config->chunks.end()) {
    throw Error(ErrorCode::damaged, "the index.json beside it does not list it",
                {.path = path, .hint = "copy the index.json of its dataset to the same directory"});
  }
  return {.columns = std::move(config->columns),
          .listed = std::move(*listed),
          .compresses_samples = config->compresses_samples};
}

}  // namespace bale::litdata
