#include "bale/writer/plan/shard_table.hpp"

#include <string>

#include <fmt/format.h>

#include "bale/formats/base/options/option_values.hpp"
#include "bale/writer/plan/dataset_files.hpp"

namespace bale {
namespace {

/// "zstd" or "zstd:LEVEL".
int parse_compression(std::string_view option, std::string_view text) {
  constexpr int k_default_level = 3;
  constexpr int k_max_level = 19;
  constexpr std::string_view k_codec = "zstd";
  if (text == k_codec) return k_default_level;
  std::optional<int> level;
  if (text.starts_with(k_codec) && text.substr(k_codec.size()).starts_with(':')) {
    level = whole_number<int>(text.substr(k_codec.size() + 1));
  }
  if (!level || *level < 1 || *level > k_max_level)
    refuse_value(option, text, "zstd or zstd:LEVEL with a level from 1 to 19");
  return *level;
}

bool parse_jpeg_code(std::string_view option, std::string_view text) {
  if (text != "planes" && text != "huffman") refuse_value(option, text, "planes or huffman");
  return text == "planes";
}

OnError parse_on_error(std::string_view option, std::string_view text) {
  if (text == "fail") return OnError::fail;
  if (text == "skip") return OnError::skip;
  if (text == "quarantine") return OnError::quarantine;
  refuse_value(option, text, "fail, skip or quarantine");
}

}  // namespace

Json option_to_json(OnError policy) { return on_error_name(policy); }
void option_from_json(const Json& json, OnError& policy) {
  const std::string& name = json.as_text("on_error");
  if (name != "fail" && name != "skip")
    throw Error(ErrorCode::damaged, "`on_error` of a plan is neither fail nor skip");
  policy = name == "skip" ? OnError::skip : OnError::fail;
}

namespace {

OptionTable table_of(PackOptions& options) {
  OptionTable table;
  add_format_options(table, options);
  add_shard_options(table, options);
  add_image_options(table, options);
  return table;
}

constexpr std::string_view k_edits = "edits.";  // of those that an object of its own has

}  // namespace

void add_format_options(OptionTable& table, PackOptions& options) {
  add_parsed(table, "compress", "zstd[:LEVEL]", options.compress_level, parse_compression,
             "Compress every field that is not an image, if the layout has room for it")
      .typed("str")
      .stored("compress_level");
  add_parsed(
      table, "size", "N",
      [&](const std::string& option, const std::string& text) {
        options.format_options["size"] = std::to_string(parse_positive(option, text));
      },
      "Side in pixels of decoded images, for layouts that store pixels")
      .typed("int");
  const auto for_layout = [&options](const char* name) -> TakeText {
    return [&options, name](const std::string& option, const std::string& text) {
      require_value(option, text);
      options.format_options[name] = text;
    };
  };
  add_parsed(table, "level", "N", for_layout("level"),
             "Compression level, for layouts that compress the whole shard or pixels")
      .typed("int");
  add_parsed(table, "label_base", "N", for_layout("label_base"),
             "Number of the first class in the files, for layouts whose readers may count from 1 (default: 0)")
      .typed("int");
}

void add_on_error(OptionTable& table, PackOptions& options) {
  add_parsed(table, "on_error", "fail|skip|quarantine", options.on_error, parse_on_error,
             "What to do with unreadable samples (default: fail)")
      .typed("OnError")
      .stored("on_error");
}

void add_shard_options(OptionTable& table, PackOptions& options) {
  add_on_error(table, options);
  add_sidecars(table, options.sidecars);
  table.back().stored("sidecars");
  add_parsed(
      table, "jpeg_code", "planes|huffman", options.jpeg_planes, parse_jpeg_code,
      "How JPEGs are stored: planes make loaders about 1.5 times as fast, take about a tenth more room, and give back "
      "the files to the byte; readers other than bale do not know them (default: huffman, the files as they are)")
      .typed("str")
      .stored("jpeg_planes");
  add_flag(table, "seek_points", options.seek_points, k_seek_points_text).stored("seek_points");
}

void add_image_options(OptionTable& table, PackOptions& options) {
  OptionModel& by_short =
      add_parsed(
          table, "resize_short", "N", options.edits.resize_short, parse_count32,
          "Make images smaller whose shorter side has more than N pixels, as torchvision's Resize(N) does on Pillow "
          "images; "
          "what fits stays byte for byte")
          .stored("edits.resize_short");
  add_parsed(table, "resize_max", "N", options.edits.resize_max, parse_count32, "The same by the longer side")
      .stored("edits.resize_max")
      .excludes(by_short);
  add_flag(table, "orient", options.edits.orient, "Turn images as their EXIF orientation says, and drop the tag")
      .stored("edits.orient");
  add_flag(table, "strip_metadata", options.edits.strip_metadata,
           "Leave out EXIF, XMP, color profiles, comments and texts; pixels stay as they are")
      .stored("edits.strip_metadata");
  add_parsed(table, "quality", "Q", options.edits.quality, parse_quality,
             "Quality of JPEGs that `resize_short`, `resize_max` or `orient` encode again, 1 to 100 (default: 90)")
      .stored("edits.quality");
  add_flag(table, "jpeg_lossless", options.edits.jpeg_lossless,
           "Write progressive JPEGs as baseline ones, and all with Huffman tables of their own: other bytes, the same "
           "pixels and metadata")
      .stored("edits.jpeg_lossless");

  add_image_checks(table, options);
}

void add_image_checks(OptionTable& table, PackOptions& options) {
  add_flag(
      table, "check_images", options.check_images,
      "Decode every image, and name those that cannot be: they are packed, and the index says so; with `on_error` skip "
      "or quarantine they are left out")
      .stored("check_images");
  add_max_pixels(table, options.max_pixels);
  table.back().stored("max_pixels");
}

void add_sidecars(OptionTable& table, std::vector<std::string>& names) {
  add_parsed(table, "sidecars", "NAME,...", names, parse_list,
             "Also write index files for other readers: " + sidecar_choices());
}

Json stored_options(const PackOptions& options) {
  PackOptions stored = options;
  Json out = Json::object();
  for (const OptionModel& option : table_of(stored)) {
    if (option.stored_as.empty()) continue;
    if (option.stored_as.starts_with(k_edits)) {
      out["edits"][option.stored_as.substr(k_edits.size())] = option.save();
    } else {
      out[option.stored_as] = option.save();
    }
  }
  return out;
}

void load_stored_options(const Json& json, PackOptions& options) {
  for (const OptionModel& option : table_of(options)) {
    if (option.stored_as.empty()) continue;
    const bool is_edit = option.stored_as.starts_with(k_edits);
    const Json* const value =
        is_edit ? json.at("edits").find(option.stored_as.substr(k_edits.size())) : json.find(option.stored_as);
    if (value != nullptr) option.load(*value);
  }
}

std::string fingerprint_of_stored(const PackOptions& options) {
  PackOptions filled;
  const OptionTable table = table_of(filled);
  filled = options;
  std::string text;
  for (const OptionModel& option : table) {
    if (!option.is_fingerprinted || !option.is_given()) continue;
    text += fmt::format("{}={}\n", option.keyword(), option.save().dump({.sorted = true}));
  }
  return text;
}

}  // namespace bale
