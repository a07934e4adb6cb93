#include "bale/writer/source/rows/pair_rules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/rows/file_rows.hpp"
#include "bale/writer/source/rows/source_root.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

[[noreturn]] void refuse_pair_path(std::string_view text, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("`pair_path`: \"{}\" {}", printable(text), why),
              {.hint = "for example `pair_path` 'mask.png=../masks/{stem}_mask.png'"});
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

bool is_parent(std::string_view path) { return path == ".." || path.starts_with("../"); }

constexpr std::size_t k_max_files = 16;  // per sample

[[noreturn]] void refuse_pair_rule(std::string_view what, std::string hint) {
  throw Error(ErrorCode::invalid_argument, what, {.hint = std::move(hint)});
}

/// "mask.png" is an extension. An empty part between two dots is not allowed.
bool is_extension(std::string_view field) {
  return !field.empty() && field.find('/') == std::string_view::npos && !field.starts_with('.') &&
         !field.ends_with('.') && field.find("..") == std::string_view::npos;
}

}  // namespace

std::string_view without_leading_parents(std::string_view directory) {
  while (is_parent(directory)) directory.remove_prefix(std::min<std::size_t>(directory.size(), 3));
  return directory;
}

PairPath::PairPath(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) refuse_pair_path(text, "is not EXT=PATTERN");
  field_ = field_name(text.substr(text.starts_with('.') ? 1 : 0, equals - (text.starts_with('.') ? 1 : 0)));
  const std::string_view pattern = text.substr(equals + 1);
  parse(pattern);
  const std::string clean = clean_path(pattern);
  if (clean.empty() || clean == "/" || pattern.ends_with('/')) refuse_pair_path(text, "names no file");
  const std::string_view rest = without_leading_parents(clean);
  if (rest.empty() || rest.find("/../") != std::string_view::npos || rest.ends_with("/..")) {
    refuse_pair_path(text, "goes up with \"..\" elsewhere than at its beginning");
  }
  const auto depends_on_image = [](const Part& part) { return part.what == What::stem || part.what == What::key; };
  if (std::none_of(parts_.begin(), parts_.end(), depends_on_image)) {
    refuse_pair_path(text, "has neither {stem} nor {key}, so all images would have one file");
  }
}

void PairPath::parse(std::string_view pattern) {
  while (!pattern.empty()) {
    const std::size_t open = std::min(pattern.find('{'), pattern.size());
    if (open > 0) parts_.push_back({.text = std::string(pattern.substr(0, open))});
    pattern.remove_prefix(open);
    if (pattern.empty()) return;
    const std::size_t close = pattern.find('}');
    if (close == std::string_view::npos) refuse_pair_path(pattern, "has no closing brace");
    add_placeholder(pattern.substr(1, close - 1));
    pattern.remove_prefix(close + 1);
  }
}

void PairPath::add_placeholder(std::string_view inside) {
  const std::size_t percent = std::min(inside.find('%'), inside.size());
  const std::string_view name = inside.substr(0, percent);
  std::string suffix(inside.substr(std::min(percent + 1, inside.size())));
  if (name == "dir") {
    parts_.push_back({What::dir, std::move(suffix)});
  } else if (name == "stem") {
    parts_.push_back({What::stem, std::move(suffix)});
  } else if (name == "key") {
    parts_.push_back({What::key, std::move(suffix)});
  } else {
    refuse_pair_path(fmt::format("{{{}}}", inside), "is none of {dir}, {stem} and {key}");
  }
}

PairPath::Place PairPath::place(std::string_view image_directory, std::string_view stem) const {
  std::string path;
  for (const Part& part : parts_) {
    switch (part.what) {
      case What::text:
        path += part.text;
        break;
      case What::dir:
        path += without_suffix(image_directory, part.text);
        break;
      case What::stem:
        path += without_suffix(stem, part.text);
        break;
      case What::key:
        path += without_suffix(below(image_directory, stem), part.text);
        break;
    }
  }
  // {dir} of an image at the root is empty. The slash after it in the pattern must not make the path absolute.
  const bool is_absolute = parts_.front().what == What::text && parts_.front().text.starts_with('/');
  const std::size_t first = is_absolute ? 0 : std::min(path.find_first_not_of('/'), path.size());
  const std::string clean = clean_path(std::string_view(path).substr(first));
  const std::size_t slash = clean.rfind('/');
  if (slash == std::string::npos) return {"", clean};
  return {clean.substr(0, std::max<std::size_t>(slash, clean.starts_with('/') ? 1 : 0)), clean.substr(slash + 1)};
}

PairRules::PairRules(const SourceOptions& options) {
  for (const std::string& text : options.pair) {
    extensions_.push_back(text.starts_with('.') ? text.substr(1) : text);
    const std::string field = field_name(extensions_.back());
    if (!is_extension(field)) refuse_pair_rule(fmt::format("`pair`: \"{}\" is not an extension", printable(text)), "");
    if (std::find(fields_.begin(), fields_.end(), field) != fields_.end()) {
      refuse_pair_rule(fmt::format("`pair`: \"{}\" is named twice", printable(text)), "");
    }
    fields_.push_back(field);
  }
  if (fields_.size() == 1 || fields_.size() > k_max_files) {
    refuse_pair_rule("`pair` takes 2 to 16 extensions", "for example `pair` jpg,json");
  }
  if (!fields_.empty() && fields_.front().find('.') != std::string::npos) {
    refuse_pair_rule(fmt::format("`pair`: the image's extension \"{}\" has a dot", printable(fields_.front())),
                     "name the image's last extension first, such as jpg; those of the other files may have dots");
  }
  paths_.resize(fields_.size());
  for (const std::string& text : options.pair_path) {
    PairPath path(text);
    const auto field = std::find(fields_.begin(), fields_.end(), path.field());
    if (field == fields_.end() || field == fields_.begin()) {
      refuse_pair_rule(
          fmt::format("`pair_path`: \"{}\" is none of the files that `pair` names next to the image",
                      printable(path.field())),
          fmt::format("for example `pair` jpg,{0} `pair_path` {1}", printable(path.field()), printable(text)));
    }
    std::optional<PairPath>& place = paths_[static_cast<std::size_t>(field - fields_.begin())];
    if (place) refuse_pair_rule(fmt::format("`pair_path`: \"{}\" is named twice", printable(path.field())), "");
    place = std::move(path);
  }
}

PairRules::Part PairRules::part_of(std::string_view name) const {
  const auto index_of = [&](std::string_view extension) {
    const auto found = std::find(fields_.begin(), fields_.end(), field_name(extension));
    const auto index = static_cast<std::size_t>(found - fields_.begin());
    return found == fields_.end() || path(index) != nullptr ? -1 : static_cast<int>(index);
  };
  for (std::size_t dot = name.find('.', 1); dot < name.size(); dot = name.find('.', dot + 1)) {
    const int index = index_of(name.substr(dot + 1));
    if (index >= 0) return {name.substr(0, dot), index};
  }
  const StemAndExtension split = split_file_name(name);  // ".jpg" is both stem and extension
  return {split.stem, split.extension.empty() ? -1 : index_of(split.extension)};
}

bool PairRules::has_extension_of(std::string_view name) const {
  for (std::size_t dot = name.find('.'); dot < name.size(); dot = name.find('.', dot + 1)) {
    if (std::find(fields_.begin(), fields_.end(), field_name(name.substr(dot + 1))) != fields_.end()) return true;
  }
  return false;
}

void DistantFiles::add(FileRows& rows, const FileRow& image, const PairPath& path) {
  const std::string stem(split_file_name(rows.name(image)).stem);
  const PairPath::Place place = path.place(rows.key_directory(image.directory), stem);
  const auto [found, is_new] = ids_.try_emplace(place.directory, 0);
  if (is_new) {
    const bool is_absolute = place.directory.starts_with('/');
    const std::string directory = is_absolute ? place.directory : below(root_, place.directory);
    const std::size_t in_keys = is_absolute ? directory.size() - 1 : without_leading_parents(place.directory).size();
    found->second = rows.add_directory(directory, directory.size() - in_keys);
  }
  rows.add_companion(found->second, place.name);
}

std::vector<std::string> DistantFiles::places(const FileRows& rows) const {
  std::vector<std::string> places;
  for (const auto& [directory, id] : ids_) places.emplace_back(rows.directory(id));
  return places;
}

}  // namespace bale
