#include "bale/formats/mds/directory_list.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/mds/content.hpp"

namespace bale::mds {
namespace {

constexpr const char* k_name = "index.json";
constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 30;

/// A file that the list names: its name and size.
struct ListedFile {
  std::string name;
  std::uint64_t bytes = 0;
};

ListedFile listed_file(const Json& file) {
  ListedFile listed{.name = file.text("basename"), .bytes = file.count("bytes")};
  // Streaming's merge_index() lists the shards of several directories: "0/shard.00000.mds".
  if (listed.name.empty() || contained_name(listed.name) != listed.name) {
    throw Error(ErrorCode::damaged, "lists a shard outside its directory");
  }
  return listed;
}

/// Whether the file is there. One that is there must have the listed size; for one on a server, opening compares it.
bool is_there(const std::string& directory, const ListedFile& file) {
  const std::string path = join_name(directory, file.name);
  if (remote_storage_of(directory) != nullptr) return path_exists(path);
  const auto bytes = file_size(path);
  if (bytes && *bytes != file.bytes) {
    throw Error(ErrorCode::damaged,
                fmt::format("the shard \"{}\" has {} bytes, not those it lists", printable(file.name), *bytes),
                {.hint = "copy it again"});
  }
  return bytes.has_value();
}

/// The file of a shard: the uncompressed one if it is there, else the compressed one.
std::string shard_name(const std::string& directory, const Json& shard) {
  const std::string& format = shard.text("format");
  if (format != "mds") {
    throw Error(ErrorCode::unsupported, fmt::format("lists shards of the format \"{}\"", printable(format)),
                {.hint = "write them again with MDSWriter"});
  }
  const ListedFile raw = listed_file(shard.at("raw_data"));
  const Json& zip = shard.at("zip_data");
  if (zip.is_null()) {
    if (remote_storage_of(directory) != nullptr || is_there(directory, raw)) return raw.name;
    throw Error(ErrorCode::not_found, fmt::format("the shard \"{}\" that it lists is not there", printable(raw.name)),
                {.hint = "copy it again"});
  }
  if (is_there(directory, raw)) return raw.name;
  const ListedFile compressed = listed_file(zip);
  const std::string& compression = shard.text("compression");
  if (!is_readable_compression(compression)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("lists shards compressed by \"{}\", bale reads zstd", printable(compression)),
                {.hint = "decompress the shards, or write them with compression=\"zstd\""});
  }
  if (is_there(directory, compressed)) return compressed.name;
  throw Error(ErrorCode::not_found,
              fmt::format("the shard \"{}\" that it lists is not there", printable(compressed.name)),
              {.hint = "copy it again"});
}

bool is_list(const Json& value) {
  const Json* const shards = value.find("shards");
  return value.contains("version") && shards != nullptr && shards->is_array() && shards->size() > 0 &&
         shards->as_list("shards")[0].contains("column_encodings");
}

/// The list in a directory; null if it has none, or another program's file.
Json list_in(const std::string& directory) {
  const std::string path = join_name(directory, k_name);
  if (!path_exists(path)) return {};
  const std::vector<std::byte> bytes = read_file(path, k_max_bytes);
  try {
    Json list = parse_json(as_text(bytes));
    return is_list(list) ? list : Json();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::optional<std::vector<std::string>> list_directory(const std::string& directory) {
  const Json list = list_in(directory);
  if (list.is_null()) return std::nullopt;
  const std::string path = join_name(directory, k_name);
  std::vector<std::string> names;
  try {
    for (const Json& shard : list.list("shards")) names.push_back(shard_name(directory, shard));
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), {.path = path, .hint = error.context().hint});
  }
  return names;
}

std::vector<std::string> listed_classes(const std::string& directory) {
  const Json list = list_in(directory);
  try {
    return list.contains("classes") ? list.bytes_list("classes") : std::vector<std::string>();
  } catch (const Error&) {
    return {};  // not those of bale.to_mds()
  }
}

}  // namespace bale::mds
