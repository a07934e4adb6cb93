#include "bale/writer/source/tables/class_lists.hpp"

#include <algorithm>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/rows/file_source.hpp"
#include "bale/writer/source/tables/listed_files.hpp"

namespace bale {
namespace {

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

}  // namespace

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
    for (FileRow& row : listing.rows.samples()) row.label = numbers[static_cast<std::size_t>(row.label)];
    listing.classes = labels.classes();
    listing.label_origin = {.reading = labels.reading()};
  }
  tell_unused_options(
      options, {"pair", "pair_path", "root", "flat", "list_jobs", "keep_extensions", options.flat ? "" : "class_map"},
      options.flat ? "the files of the lists get no labels" : "these are lists of files by class", path,
      listing.notices);
  return std::make_unique<FileSource>(std::move(listing));
}

}  // namespace bale
