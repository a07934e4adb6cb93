#include "bale/writer/source/rows/pair_rules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/key.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {
namespace {

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
