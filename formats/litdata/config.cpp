#include "bale/formats/litdata/config.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale::litdata {
namespace {

constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 30;

bool is_index(const Json& value) {
  const Json* const chunks = value.find("chunks");
  const Json* const config = value.find("config");
  return chunks != nullptr && chunks->is_array() && config != nullptr && config->contains("data_format");
}

/// Throws `unsupported` for what bale does not read.
void check_layout(const Json& config) {
  const std::string loader = config.text_or_empty("item_loader");
  if (!loader.empty() && loader != "PyTreeLoader") {
    throw Error(ErrorCode::unsupported, fmt::format("a dataset for LitData's {}", printable(loader)),
                {.hint = "bale reads what PyTreeLoader, the default, reads"});
  }
  if (const Json* const encryption = config.find("encryption"); encryption != nullptr && !encryption->is_null()) {
    throw Error(ErrorCode::unsupported, "encrypted chunks", {.hint = "write them again without encryption"});
  }
  const std::string compression = config.text_or_empty("compression");
  if (!compression.empty() && compression.substr(0, compression.find(':')) != "zstd") {
    throw Error(ErrorCode::unsupported,
                fmt::format("chunks compressed by \"{}\", bale reads zstd", printable(compression)),
                {.hint = "write them again with compression=\"zstd\""});
  }
  const std::string level = config.text_or_empty("compression_level");
  if (!level.empty() && level != "chunk" && level != "batch" && level != "sample") {
    throw Error(ErrorCode::unsupported, fmt::format("chunks compressed by the {}", printable(level)));
  }
}

/// The tree that names the leaves: JSON in a text. Null if there is none.
Json data_spec(const Json& config) {
  const std::string text = config.text_or_empty("data_spec");
  return text.empty() ? Json() : parse_json(text);
}

Config parse(const Json& index) {
  const Json& config = index.at("config");
  check_layout(config);
  Config found;
  found.compresses_samples = config.text_or_empty("compression_level") == "sample";
  found.columns = make_columns(config.texts("data_format"), data_spec(config));
  if (found.columns.empty()) throw Error(ErrorCode::damaged, "says that samples have no values");
  for (const Json& chunk : index.list("chunks")) {
    ListedChunk listed{
        .name = chunk.text("filename"), .bytes = chunk.count("chunk_bytes"), .samples = chunk.count("chunk_size")};
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
  Json index;
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
    throw Error(ErrorCode::damaged, "the index.json next to it does not list it",
                {.path = path, .hint = "copy the index.json of its dataset to the same directory"});
  }
  return {.columns = std::move(config->columns),
          .listed = std::move(*listed),
          .compresses_samples = config->compresses_samples};
}

}  // namespace bale::litdata
