// Lists of paths, one per line or NUL-separated as `find -print0` writes them.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/names/known_names.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/tables/listed_files.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

/// The path of a directory without folders of splits, such as train.
std::string path_in_split(std::string_view path) {
  std::string rest;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    const std::string_view without_year = name.substr(0, name.find_last_not_of("0123456789") + 1);  // val2017
    if (!is_split_name(name) && !is_split_name(without_year)) rest.append("/").append(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return rest;
}

/// Says if one class is of several folders that are not splits of it: a/apse/indoor and c/church/indoor of SUN397.
void tell_of_joined_folders(FileListing& listing, const std::vector<std::string_view>& name_of, bool has_map) {
  std::unordered_map<std::string_view, std::uint32_t> first;
  std::set<std::string_view> joined;
  std::string example;
  for (std::uint32_t id = 0; id < name_of.size(); ++id) {
    if (name_of[id].empty()) continue;
    const auto [at, is_new] = first.try_emplace(name_of[id], id);
    const std::string_view path = listing.rows.key_directory(id);
    const std::string_view before = listing.rows.key_directory(at->second);
    if (is_new || path_in_split(path) == path_in_split(before) || !joined.insert(at->first).second) continue;
    if (example.empty()) example = fmt::format("{} and {}", printable(before), printable(path));
  }
  if (joined.empty()) return;
  NoticeLog found;
  const std::string others =
      joined.size() == 1 ? "" : fmt::format(" (so are those of {})", plural(joined.size() - 1, "other name"));
  const std::string text = fmt::format(
      "the folders {} are one class, because they have one name{}; if they are different classes, write the label "
      "after each path",
      example, others);
  has_map ? found.mention(text) : found.warn(text);
  listing.notices.merge(found, listing.places.empty() ? std::string() : listing.places.front());
}

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
  labels.mention_joined(listing.places.empty() ? std::string() : listing.places.front(), listing.notices);
  std::vector<std::int64_t> label_of(listing.rows.num_directories(), k_no_label);
  for (FileRow& row : listing.rows.samples()) {
    std::int64_t& label = label_of[row.directory];
    if (label == k_no_label) label = labels.number_of(name_of[row.directory], listing.rows.path(row));
    row.label = label;
  }
  listing.classes = labels.classes();
  tell_of_joined_folders(listing, name_of, labels.has_map());
}

/// Labels after the paths, if the list has them: the first line that is found says so.
class ListedLabels {
 public:
  explicit ListedLabels(ListedFiles& files) : files_(files) {}

  bool are_there() const { return are_there_.value_or(false); }

  /// Adds the file of a line. Throws as ListedFiles::add().
  void add(std::string_view line, std::uint64_t number, bool is_whole_path) {
    const std::optional<PathAndLabel> parts = is_whole_path ? std::nullopt : path_and_label(line);
    if (!are_there_) decide(line, parts);
    if (are_there() && !parts) {
      throw Error(ErrorCode::invalid_argument, fmt::format("no label after the path \"{}\"", printable(line)),
                  {.hint = "other lines have one"});
    }
    FileRow* const row = files_.add(are_there() ? parts->path : line);
    if (row == nullptr || !are_there()) return;
    require_utf8(parts->label);
    const auto [at, is_new] = numbers_.try_emplace(std::string(parts->label), words_.size());
    if (is_new) words_.push_back({.text = at->first, .line = number});
    row->label = static_cast<std::int64_t>(at->second);
    are_line_numbers_ = are_line_numbers_ && parts->label == std::to_string(number);
  }

  void set(Labels& labels, const std::string& list) {
    FileListing& listing = files_.listing();
    if (are_line_numbers_ && words_.size() > k_min_lines) {
      throw Error(ErrorCode::invalid_argument, "the numbers after the paths are those of the lines, and no classes",
                  {.path = list, .hint = "leave them out, or give `flat` to pack without labels"});
    }
    const std::vector<std::int64_t> numbers = labels.take_words(words_, list);
    labels.mention_joined(list, listing.notices);
    for (FileRow& row : listing.rows.samples()) {
      if (row.label == k_no_label) {  // of a line before the first that was found
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no label after the path of {}", printable(listing.rows.path(row))),
                    {.path = list, .hint = "other lines have one"});
      }
      row.label = numbers[static_cast<std::size_t>(row.label)];
    }
    listing.classes = labels.classes();
    listing.label_origin = {.reading = labels.reading(), .is_after_path = true};
  }

  /// Without labels, although the list has them.
  void forget() {
    for (FileRow& row : files_.listing().rows.samples()) row.label = k_no_label;
  }

 private:
  static constexpr std::size_t k_min_lines = 9;  // fewer may count the lines by chance

  void decide(std::string_view line, const std::optional<PathAndLabel>& parts) {
    if (files_.is_there(line)) {
      are_there_ = false;
    } else if (parts && files_.is_there(parts->path)) {
      are_there_ = true;
    }
  }

  ListedFiles& files_;
  std::optional<bool> are_there_;                         // once it is known
  std::unordered_map<std::string, std::size_t> numbers_;  // of the words
  std::vector<LabelWord> words_;                          // each once
  bool are_line_numbers_ = true;
};

constexpr std::uint64_t k_max_lists_bytes = std::uint64_t{1} << 30;
constexpr std::size_t k_lists_head_bytes = 4096;

/// The members as (class, paths). Throws `damaged` without a path.
void add_lists(const Json& lists, const std::string& path, ListedFiles& files, std::vector<LabelWord>& words) {
  for (const Json::Member& list : lists.as_members("the file")) {
    for (const Json& name : list.value.as_list(list.name)) {
      const std::string& image = name.as_text("a path");
      try {
        FileRow* const row = files.add(image);
        if (row != nullptr) row->label = static_cast<std::int64_t>(words.size());
      } catch (const Error& error) {
        files.lose(error, path, 0);
      }
    }
    words.push_back({.text = list.name});
  }
}

/// Samples come by the names of their classes, those of a class in the order of its list.
std::unique_ptr<Source> open_class_lists(const std::string& path, const SourceOptions& options) {
  Labels labels(options);
  ListedFiles files(options, options.root);
  std::vector<LabelWord> words;
  try {
    add_lists(parse_json(as_text(read_file(path, k_max_lists_bytes))), path, files, words);
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    throw Error(error.code(), error.message(),
                {.path = path, .hint = "lists by class are {\"class\": [\"path\", ...], ...}"});
  }
  files.require_samples(path, "the lists name no image", {});
  FileListing listing = files.finish(path);
  if (options.flat) {
    for (FileRow& row : listing.rows.samples()) row.label = k_no_label;
  } else {
    const std::vector<std::int64_t> numbers = labels.take_words(words, path);
    labels.mention_joined(path, listing.notices);
    for (FileRow& row : listing.rows.samples()) row.label = numbers[static_cast<std::size_t>(row.label)];
    listing.classes = labels.classes();
    listing.label_origin = {.reading = labels.reading()};
  }
  note_unused_options(
      options, {"pair", "pair_path", "root", "flat", "list_jobs", "keep_extensions", options.flat ? "" : "class_map"},
      options.flat ? "the files of the lists get no labels" : "these are lists of files by class", path,
      listing.notices);
  return std::make_unique<FileSource>(std::move(listing));
}

}  // namespace

std::unique_ptr<Source> open_list_source(const std::string& path, const SourceOptions& options) {
  if (path != "-" && is_class_lists(path)) return open_class_lists(path, options);
  Labels labels(options);
  ListedFiles files(options, options.root);
  RecordReader reader(path, options.nul_separated ? RecordKind::nul_separated : RecordKind::lines);
  const std::string list_name = path == "-" ? "standard input" : path;
  ListedLabels own(files);
  while (reader.next()) {
    if (reader.record().empty()) continue;
    try {
      own.add(reader.record(), reader.line(), options.nul_separated);
    } catch (const Error& error) {
      files.lose(error, list_name, reader.line());
    }
  }
  files.require_samples(list_name, "the list names no image",
                        options.nul_separated ? "are its names separated by NUL?" : "one path per line");
  if (options.flat) {
    own.forget();
  } else if (own.are_there()) {
    own.set(labels, list_name);
  } else {
    label_by_parent(files, labels);
  }
  FileListing listing = files.finish(list_name);
  const bool takes_classes = !listing.classes.empty() || (own.are_there() && !options.flat);
  note_unused_options(
      options,
      {"pair", "pair_path", "root", "null", "flat", "list_jobs", "keep_extensions", takes_classes ? "class_map" : ""},
      takes_classes ? "this is a list of files" : "the files of the list get no labels", list_name, listing.notices);
  return std::make_unique<FileSource>(std::move(listing));
}

bool is_class_lists(const std::string& path) {
  if (!lower_case(path).ends_with(".json")) return false;
  std::vector<std::byte> head(k_lists_head_bytes);
  head.resize(File::open_read(path).read_some(0, head));
  std::string_view text = as_text(head);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const auto take = [&](char c) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!take('{') || !take('"')) return false;
  while (!text.empty() && text[0] != '"')
    text.remove_prefix(std::min<std::size_t>(text[0] == '\\' ? 2 : 1, text.size()));
  return take('"') && take(':') && take('[') && (take('"') || take(']'));
}

}  // namespace bale
