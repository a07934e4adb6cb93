#include "bale/writer/source/choose/source_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/formats/registry/registry.hpp"

namespace bale {
namespace {

constexpr const char* k_for_files = "files";  // other labels or keys: packed samples and arrays have no use for it

/// "A|B|C": the formats that bale reads.
std::string packed_source_choices() {
  std::vector<std::string_view> names;
  for (const Format* format : formats()) names.push_back(format->name);
  return joined(names, "|");
}

/// "folder|list|...|A|B|C".
std::string source_choices() { return joined(source_kinds(), "|"); }

std::string parse_source_kind(std::string_view option, const std::string& text, bool packed) {
  if (std::any_of(formats().begin(), formats().end(), [&](const Format* format) { return format->name == text; })) {
    return text;
  }
  const std::vector<std::string> kinds = source_kinds();
  if (!packed && std::find(kinds.begin(), kinds.end(), text) != kinds.end()) return text;
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: \"{}\" is not one of {}", option, printable(text),
                                                       packed ? packed_source_choices() : source_choices()));
}

void add_fields(OptionTable& table, SourceOptions& source) {
  OptionModel& pair =
      add_parsed(table, "pair", "EXT,EXT,...", source.pair, parse_list,
                 "Files of the same name with these extensions make one sample, the image first, such as jpg,mask.png")
          .tagged(k_for_files);
  add_repeated(table, "pair_path", "EXT=PATTERN", source.pair_path,
               "Where the files with this extension of `pair` are, if not next to the image: a path from SRC on with "
               "{dir}, {stem} or {key} of the image, such as 'mask.png=../masks/{stem}_mask.png'; {stem%SUFFIX} is the "
               "stem without SUFFIX; may be repeated")
      .needs(pair);
  OptionModel& annotations = add_repeated(
      table, "annotations", "PATH", source.annotations,
      "Boxes, keypoints, captions or panoptic masks of SRC, a folder of images; they become the fields boxes.json, "
      "keypoints.json, captions.json, or panoptic.png and segments.json: COCO's JSON, VOC's Annotations or "
      "ImageSets/Main/X.txt, YOLO's labels or data.yaml, or a CSV of boxes (Open Images' or in pixels); may be "
      "repeated");
  add_text(table, "annotations_format", joined(annotation_formats(), "|"), source.annotations_format,
           "Format of the annotations (default: what they look like)")
      .needs(annotations)
      .typed(fmt::format("Literal[\"{}\"]", joined(annotation_formats(), "\", \"")));
}

/// Options of sources that are not packed.
void add_file_options(OptionTable& table, SourceOptions& source) {
  add_fields(table, source);
  add_flag(table, "flat", source.flat,
           "No labels: a folder has no class folders, or the label column of a table is one like the others")
      .tagged(k_for_files);
  add_flag(table, "keep_extensions", source.keep_extensions,
           "Keys keep the extensions of their files, so that x.jpg and x.png in one folder are two samples")
      .tagged(k_for_files);
  add_flag(table, "allow_empty", source.allow_empty, "Class folders without images keep their label");
  add_parsed(table, "list_jobs", "N", source.list_jobs, parse_jobs,
             "Threads that list directories and examine files (default: 8); more help on network file systems");
  add_text(table, "root", "DIR", source.root,
           "Where relative paths start (default: those of a table in its folder, of a list in the current one)")
      .tagged(k_for_files);
  add_text(table, "path_column", "NAME", source.path_column, "Column of the table that holds the path")
      .tagged(k_for_files);
  add_text(table, "path_pattern", "PATTERN", source.path_pattern,
           "Path of each row of the table, with {COLUMN} for its cell, as in 'train/{id}.jpg'")
      .tagged(k_for_files);
  add_text(table, "label_column", "NAME", source.label_column, "Column of the table that holds the label")
      .tagged(k_for_files);
  add_flag(table, "allow_unlabeled", source.allow_unlabeled,
           "Rows of a table without a label (an empty cell, NA, NaN, null and such) are samples without one")
      .tagged(k_for_files);
}

}  // namespace

void add_source_options(OptionTable& table, SourceOptions& source, SourceUse use) {
  const bool is_packed = use == SourceUse::packed;
  if (use != SourceUse::of_each) {
    add_parsed(
        table, "source", is_packed ? packed_source_choices() : source_choices(),
        [&source, is_packed](const std::string& option, const std::string& text) {
          source.kind = parse_source_kind(option, text, is_packed);
        },
        is_packed ? "Format of the shards (default: what they look like)"
                  : "What the source is (default: what it looks like); a format stands for shards of it");
  }
  add_repeated(table, "include", "GLOB", source.include,
               "Take only what matches: a path below the source, a key, or a directory with all in it; * also matches "
               "slashes, **/ any number of directories; may be repeated");
  add_repeated(table, "exclude", "GLOB", source.exclude,
               "Leave out what matches, and directories that match with all in them; may be repeated");
  add_text(table, "class_map", "FILE", source.class_map,
           "Number of each class by its name: lines 'NAME INDEX', 'INDEX NAME' or 'NAME', a JSON object or array, or a "
           "packed "
           "dataset, whose classes are taken; classes without names are named by their numbers");
  add_flag(table, "class_folders", source.class_folders,
           "A packed source has no labels and keys with folders, as an archive of class folders: the folders are the "
           "classes");
  if (!is_packed) add_file_options(table, source);
}

void add_list_options(OptionTable& table, SourceOptions& source) {
  add_flag(table, "0,null", source.nul_separated, "Paths of `files_from` end with NUL, not newline");
}

std::vector<std::string> given_source_options(const SourceOptions& options, bool only_for_files) {
  SourceOptions filled;
  OptionTable table;
  add_source_options(table, filled, SourceUse::of_each);
  add_list_options(table, filled);
  filled = options;
  std::vector<std::string> names;
  for (const OptionModel& option : table) {
    if (option.is_given() && (!only_for_files || option.tag == k_for_files)) names.push_back(option.keyword());
  }
  return names;
}

}  // namespace bale
