#include "bale/formats/litdata/columns.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/shard/sample/key.hpp"

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

// By number. Empty: a type that array files do not have, or that has no fixed size.
constexpr std::string_view k_torch_types[] = {"float32", "float32", "float64", "float64", "",      "",     "",
                                              "",        "float16", "float16", "",        "uint8", "int8", "int16",
                                              "int16",   "int32",   "int32",   "int64",   "int64", "bool", "uint16"};
constexpr std::string_view k_numpy_types[] = {"int8",   "int16",   "int32",   "int64",   "uint8", "uint16", "uint32",
                                              "uint64", "float16", "float32", "float64", "",      "",       "bool"};

std::string torch_type(std::uint64_t number) {
  return number < std::size(k_torch_types) ? number_type(k_torch_types[number]) : std::string();
}

std::string numpy_type(std::uint64_t number) {
  return number < std::size(k_numpy_types) ? number_type(k_numpy_types[number]) : std::string();
}

/// The number after the colon.
std::uint64_t number_after(std::string_view text) {
  std::uint64_t number = ~std::uint64_t{0};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size() ? number : ~std::uint64_t{0};
}

void parse_format(Column& column) {
  const std::string_view format = column.encoding;
  const std::size_t colon = format.find(':');
  const std::string_view name = format.substr(0, colon);
  const std::string_view argument = colon == std::string_view::npos ? std::string_view() : format.substr(colon + 1);
  column.ending = field_name(argument);
  const auto is_vector = [&](std::string type) {
    column.type = std::move(type);
    column.kind = column.type.empty() ? ValueKind::opaque : ValueKind::vector;
  };
  const auto is_number = [&](std::string_view type) {
    column.type = number_type(type);
    column.kind = ValueKind::number;
  };
  if (name == "str" || name == "text") {
    column.kind = ValueKind::text;
  } else if (name == "bool") {
    is_number("bool");
  } else if (name == "int") {
    is_number("int64");
  } else if (name == "float") {
    is_number("float64");
  } else if (name == "jpeg" || name == "image" || name == "tifffile" || name == "tiff") {
    column.kind = ValueKind::image;
  } else if (name == "pil") {
    column.kind = ValueKind::pixels;
  } else if (name == "bytes" || name == "file" || name == "video" || name == "audio" || name == "nifti" ||
             name == "mesh" || name == "pdf") {
    column.kind = ValueKind::bytes;
  } else if (name == "numpy") {
    column.kind = ValueKind::numpy;
  } else if (name == "tensor") {
    column.kind = ValueKind::tensor;
  } else if (name == "no_header_numpy") {
    is_vector(numpy_type(number_after(argument)));
  } else if (name == "no_header_tensor") {
    is_vector(torch_type(number_after(argument)));
  }
}

/// Walks the tree of a sample and collects the path of each leaf. False if it is not such a tree.
class Paths {
 public:
  explicit Paths(std::vector<std::string>& paths) : paths_(paths) {}

  bool add(const Json& node, const std::string& path, unsigned depth = 0) {
    constexpr unsigned k_max_depth = 64;
    const Json* const type = node.find("type");
    const Json* const spec = node.find("children_spec");
    if (depth > k_max_depth || type == nullptr || spec == nullptr || !spec->is_array()) return false;
    if (type->is_null()) {
      paths_.push_back(path);
      return true;
    }
    const std::vector<Json>& children = spec->as_list("children_spec");
    const Json context = names_of(node);
    const bool has_names = context.is_array() && context.size() == children.size();
    for (std::size_t i = 0; i < children.size(); ++i) {
      std::string name = std::to_string(i);
      if (has_names) {
        const Json& given = context.as_list("context")[i];
        if (given.is_text()) name = given.as_text("context");
      }
      if (!add(children[i], path.empty() ? name : path + "_" + name, depth + 1)) return false;
    }
    return true;
  }

 private:
  /// Of a dictionary: its keys, which are JSON in a text.
  static Json names_of(const Json& node) {
    const Json* const context = node.find("context");
    if (context == nullptr || !context->is_text()) return {};
    try {
      return parse_json(context->as_text("context"));
    } catch (const Error&) {
      return {};
    }
  }

  std::vector<std::string>& paths_;
};

/// The paths of the leaves; empty for those without a name.
std::vector<std::string> names_of(std::size_t count, const Json& spec) {
  std::vector<std::string> paths;
  const bool has_tree = spec.is_array() && spec.size() == 2 && Paths(paths).add(spec.as_list("data_spec")[1], "");
  if (!has_tree || paths.size() != count) paths.assign(count, {});
  return paths;
}

std::uint32_t word(Bytes front, std::size_t at, bool big_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::to_integer<std::uint32_t>(front[at + i]) << (8 * (big_endian ? 3 - i : i));
  }
  return value;
}

std::optional<ArrayConversion> array_with_header(Bytes front, bool is_tensor) {
  constexpr std::size_t k_header = 8;
  constexpr std::size_t k_max_sides = 64;
  if (front.size() < k_header) return std::nullopt;
  const std::uint32_t number = word(front, 0, is_tensor);
  const std::string type = is_tensor ? torch_type(number) : numpy_type(number);
  const std::uint32_t rank = word(front, 4, is_tensor);
  if (type.empty() || rank > k_max_sides || front.size() < k_header + 4 * std::size_t{rank}) return std::nullopt;
  std::vector<std::uint64_t> shape(rank);
  for (std::size_t i = 0; i < rank; ++i) shape[i] = word(front, k_header + 4 * i, is_tensor);
  return array_delivery(type, shape, k_header + 4 * std::uint64_t{rank});
}

/// The extensions that set_stored(), set_made() and set_opaque() may get for the column.
std::vector<std::string_view> endings_of(const Column& column) {
  std::vector<std::string_view> endings = endings_of_bytes();
  switch (column.kind) {
    case ValueKind::text:
      return {"txt"};
    case ValueKind::image:
      endings.front() = "bin";
      return endings;
    case ValueKind::bytes:
      endings.front() = column.ending;
      return endings;
    case ValueKind::pixels:
      return {k_array_field, "pgm", "bin"};
    case ValueKind::numpy:
    case ValueKind::tensor:
      return {k_array_field, "bin"};
    case ValueKind::opaque:
      return {column.encoding == "pickle" ? "pkl" : "bin"};
    default:
      return {k_array_field};
  }
}

}  // namespace

std::vector<Column> make_columns(const std::vector<std::string>& formats, const Json& spec) {
  const std::vector<std::string> names = names_of(formats.size(), spec);
  std::vector<Column> columns(formats.size());
  for (std::size_t i = 0; i < formats.size(); ++i) {
    columns[i].name = names[i];
    columns[i].encoding = formats[i];
    parse_format(columns[i]);
  }
  if (const Column* const twin = name_stems(columns)) {
    throw Error(ErrorCode::unsupported,
                fmt::format("two values of a sample are both called \"{}\"", printable(twin->stem)),
                {.hint = "write it again with other names"});
  }
  for (Column& column : columns) column.name = column.stem;
  const auto is_text = [](const Column& column) { return column.encoding == "str"; };
  if (!assign_role(columns, k_key_names, Role::key, is_text)) {
    assign_role(columns, k_file_names, Role::file_name, is_text);
  }
  const auto is_integer = [](const Column& column) { return column.encoding == "int"; };
  const auto has_no_name = [&](const Column& column) {
    return is_integer(column) &&
           std::all_of(column.stem.begin(), column.stem.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
  };
  if (!assign_role(columns, k_label_names, Role::label, is_integer)) assign_first(columns, Role::label, has_no_name);
  assign_image(
      columns, [](const Column& column) { return column.kind == ValueKind::image || column.kind == ValueKind::pixels; },
      [](const Column& column) { return column.kind == ValueKind::bytes; },
      [](const Column& column) { return column.kind == ValueKind::numpy || column.kind == ValueKind::tensor; });
  keep_fields_apart(columns, endings_of);
  return columns;
}

std::optional<ArrayConversion> conversion_of(const Column& column, Bytes front, std::uint64_t length) {
  switch (column.kind) {
    case ValueKind::number:
      return array_delivery(column.type, {}, 0);
    case ValueKind::vector:
      return array_delivery(column.type, {length / type_bytes(column.type)}, 0);
    case ValueKind::numpy:
    case ValueKind::tensor:
      return array_with_header(front, column.kind == ValueKind::tensor);
    case ValueKind::pixels:
      return pillow_delivery(front, column.role == Role::image);
    default:
      return std::nullopt;
  }
}

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
