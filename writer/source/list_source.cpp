// Lists of paths, one per line or NUL-separated as `find -print0` writes them.
#include <algorithm>
#include <optional>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/class_map.hpp"
#include "bale/writer/source/listed_files.hpp"
#include "bale/writer/source/option_use.hpp"
#include "bale/writer/source/python_order.hpp"
#include "bale/writer/source/record_reader.hpp"

namespace bale {
namespace {

/// The class of a file is the name of the directory that holds it, as in a folder of class folders.
void label_by_parent(ListedFiles& files, const SourceOptions& options) {
  FileListing& listing = files.listing();
  std::vector<std::string> names;
  std::vector<std::string_view> name_of(listing.rows.num_directories());
  const FileRow* bare = nullptr;
  for (const FileRow& row : listing.rows.samples()) {
    if (name_of[row.directory].empty()) {
      name_of[row.directory] = files.parent_name(row);
      if (name_of[row.directory].empty()) {
        bare = &row;
      } else {
        names.emplace_back(name_of[row.directory]);
      }
    }
  }
  if (names.empty()) return;  // bare names only: their classes are unknown
  if (bare != nullptr) {
    throw Error(ErrorCode::invalid_argument, "no directory to take the class from",
                {.path = listing.rows.path(*bare), .hint = "give `flat` to pack without labels"});
  }
  std::sort(names.begin(), names.end(), python_less);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::optional<ClassMap> map;
  if (!options.class_map.empty()) map = ClassMap::load(options.class_map);
  std::vector<std::int64_t> label_of(listing.rows.num_directories(), k_no_label);
  for (FileRow& row : listing.rows.samples()) {
    std::int64_t& label = label_of[row.directory];
    const std::string_view name = name_of[row.directory];
    if (label == k_no_label && map) label = map->label(name, listing.rows.path(row));
    if (label == k_no_label) label = std::lower_bound(names.begin(), names.end(), name, python_less) - names.begin();
    row.label = label;
  }
  listing.classes = map ? map->classes() : std::move(names);
}

}  // namespace

std::unique_ptr<Source> open_list_source(const std::string& path, const SourceOptions& options) {
  ListedFiles files(options, options.root);
  RecordReader reader(path, options.nul_separated ? RecordKind::nul_separated : RecordKind::lines);
  const std::string list_name = path == "-" ? "standard input" : path;
  while (reader.next()) {
    if (reader.record().empty()) continue;
    try {
      files.add(reader.record());
    } catch (const Error& error) {
      files.lose(error, list_name, reader.line());
    }
  }
  files.require_samples(list_name, "the list names no image",
                        options.nul_separated ? "are its names separated by NUL?" : "one path per line");
  if (!options.flat) label_by_parent(files, options);
  FileListing listing = files.finish(list_name);
  const bool takes_classes = !listing.classes.empty();
  tell_unused_options(options,
                      {"pair", "pair_path", "root", "null", "flat", "list_jobs", takes_classes ? "class_map" : ""},
                      takes_classes ? "this is a list of files" : "the files of the list get no labels", list_name,
                      listing.notices);
  return std::make_unique<FileSource>(std::move(listing));
}

}  // namespace bale
