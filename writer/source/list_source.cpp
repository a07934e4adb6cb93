// Lists of paths, one per line or NUL-separated as `find -print0` writes them.
#include "bale/formats/base/error.hpp"
#include "bale/writer/source/labels.hpp"
#include "bale/writer/source/listed_files.hpp"
#include "bale/writer/source/option_use.hpp"
#include "bale/writer/source/record_reader.hpp"

namespace bale {
namespace {

/// The class of a file is the name of the directory that holds it, as in a folder of class folders.
void label_by_parent(ListedFiles& files, Labels& labels) {
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
  if (names.empty() && !labels.has_map()) return;  // bare names only: their classes are unknown
  if (bare != nullptr) {
    throw Error(ErrorCode::invalid_argument, "no directory to take the class from",
                {.path = listing.rows.path(*bare), .hint = "give `flat` to pack without labels"});
  }
  labels.take_names(std::move(names));
  std::vector<std::int64_t> label_of(listing.rows.num_directories(), k_no_label);
  for (FileRow& row : listing.rows.samples()) {
    std::int64_t& label = label_of[row.directory];
    if (label == k_no_label) label = labels.number_of(name_of[row.directory], listing.rows.path(row));
    row.label = label;
  }
  listing.classes = labels.classes();
}

}  // namespace

std::unique_ptr<Source> open_list_source(const std::string& path, const SourceOptions& options) {
  Labels labels(options);
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
  if (!options.flat) label_by_parent(files, labels);
  FileListing listing = files.finish(list_name);
  const bool takes_classes = !listing.classes.empty();
  tell_unused_options(options,
                      {"pair", "pair_path", "root", "null", "flat", "list_jobs", takes_classes ? "class_map" : ""},
                      takes_classes ? "this is a list of files" : "the files of the list get no labels", list_name,
                      listing.notices);
  return std::make_unique<FileSource>(std::move(listing));
}

}  // namespace bale
