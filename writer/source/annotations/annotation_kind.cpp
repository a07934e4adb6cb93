// Which format annotations have, by their names and content.
#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/writer/source/annotations/annotation_set.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"

namespace bale {
namespace {

constexpr const char* k_coco = "coco";
constexpr const char* k_voc = "voc";
constexpr const char* k_yolo = "yolo";
constexpr const char* k_open_images = "openimages";

/// In upper or lower case.
bool ends_with_any(const std::string& path, std::initializer_list<std::string_view> suffixes) {
  const std::string lower = lower_case(path);
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return lower.ends_with(suffix); });
}

/// By its files, or those of its first directory, as there is one per class or split.
std::string kind_of_directory(const std::string& path, int depth = 0) {
  const TopLevel top = list_top_level(path);
  const auto has = [&](std::string_view suffix) {
    return std::any_of(top.files.begin(), top.files.end(),
                       [&](const std::string& name) { return ends_with_any(name, {suffix}); });
  };
  if (has(".xml")) return k_voc;
  if (has(".txt") || base_name(path) == "labels") return k_yolo;
  if (top.directories.empty() || depth == 3) return {};
  return kind_of_directory(join_path(path, *std::min_element(top.directories.begin(), top.directories.end())),
                           depth + 1);
}

/// "" if it cannot be guessed.
std::string kind_of(const std::string& path) {
  struct stat info {};
  if (stat_long_path(path, info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) throw_errno("examine", path);
    throw Error(ErrorCode::not_found, "no such annotations", {.path = path, .hint = "check the path"});
  }
  if (S_ISDIR(info.st_mode)) return kind_of_directory(path);
  if (ends_with_any(path, {".yaml", ".yml", ".names"}) || base_name(path) == "classes.txt") return k_yolo;
  if (ends_with_any(path, {".csv"})) return k_open_images;
  if (ends_with_any(path, {".txt"})) {
    return base_name(parent_directory(parent_directory(path))) == "ImageSets" ? k_voc : "";
  }
  const File file = File::open_read(path);
  std::byte head[64];
  const std::string_view text = as_text(Bytes(head, file.read_some(0, head)));
  refuse_utf16(text, path);
  const std::size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? k_coco : "";
}

}  // namespace

std::vector<std::string> annotation_formats() {
  return {k_coco, k_voc, k_yolo, k_yolo_polygons, k_yolo_pose, k_open_images};
}

std::unique_ptr<AnnotationSet> open_annotations(const std::string& path, const SourceOptions& options,
                                                AnnotationLog& log) {
  require_local_name(path);
  const std::string guessed = kind_of(path);  // also checks that it exists
  const std::string kind = options.annotations_format.empty() ? guessed : options.annotations_format;
  if (kind == k_coco) return open_coco(path, options, log);
  if (kind == k_voc) return open_voc(path, options, log);
  if (kind == k_yolo || kind == k_yolo_polygons || kind == k_yolo_pose) return open_yolo(path, options, log);
  if (kind == k_open_images) return open_open_images(path, options, log);
  const std::string choices = joined(annotation_formats());
  if (!kind.empty()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a format of annotations", printable(kind)),
                {.hint = fmt::format("choose one of: {}", choices)});
  }
  throw Error(ErrorCode::invalid_argument, "the format of the annotations is not clear",
              {.path = path, .hint = fmt::format("name it with `annotations_format`: {}", choices)});
}

}  // namespace bale
