#include "bale/writer/source/tables/listed_files.hpp"

#include <array>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/steady_file.hpp"
#include "bale/writer/source/files/text_files.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"
#include "bale/writer/source/rows/source_root.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

namespace bale {
namespace {

constexpr std::size_t k_head_bytes = 4096;  // enough to know the kind of an image

/// The path without ".", repeated and trailing slashes. Throws for ".." and for a path that names no file.
std::string normalized(std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("the path \"{}\" {}", printable(path), why),
                {.hint = "name files below `root`"});
  };
  std::string clean = clean_path(path);
  const std::string parts = fmt::format("/{}/", clean);
  if (parts.find("/../") != std::string::npos) refuse("goes up with \"..\"");
  if (clean.find('\0') != std::string::npos) refuse("has a NUL byte");
  if (clean.empty() || clean == "/") refuse("names no file");
  return clean;
}

}  // namespace

ListedFiles::ListedFiles(const SourceOptions& options, std::string root)
    : root_(std::move(root)),
      filter_(options.include, options.exclude, root_),
      pair_(options),
      distant_(""),
      skip_damaged_(options.skip_damaged) {
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  require_local_name(root_);
  distant_ = DistantFiles(root_);
  listing_.name_companions(pair_);
  listing_.rows.keep_extensions(options.keep_extensions);
  listing_.jobs = list_jobs(options);
  listing_.strict = options.strict;
}

/// The path without white space around it, if no file has it.
std::string_view ListedFiles::trimmed(std::string_view path) const {
  const std::string_view inner = stripped(path);
  struct stat info {};
  if (inner.size() == path.size()) return path;
  return stat_long_path(path.starts_with('/') ? std::string(path) : below(root_, path), info) == 0 ? path : inner;
}

/// The field of a file whose name does not say that it is an image. `shown` is its path in errors.
std::string ListedFiles::field_by_content(const std::string& file, std::string_view shown) const {
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    throw Error(
        code, fmt::format("\"{}\" {}", printable(shown), why),
        {.hint = "correct the line or `root`, or leave it out with `exclude`, or all such lines with `on_error` skip"});
  };
  std::array<std::byte, k_head_bytes> head{};
  Bytes bytes;
  try {
    const SteadyFile whole(file);
    bytes = Bytes(head).first(File::open_read(file).read_some(0, head));
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    refuse(error.code() == ErrorCode::unsupported ? ErrorCode::not_found : error.code(),
           fmt::format("is not an image by its name, and cannot be looked into: {}", error.message()));
  }
  const ImageKind kind = probe_image(bytes).kind;
  std::string field(kind == ImageKind::unknown ? "" : image_field_name(kind));
  if (!is_image_field(field)) refuse(ErrorCode::damaged, "is not an image, by its name and by its content");
  return field;
}

void ListedFiles::lose(const Error& error, const std::string& list, std::uint64_t line) {
  const ErrorCode code = error.code();
  const bool is_of_file = code == ErrorCode::not_found || code == ErrorCode::damaged || code == ErrorCode::io;
  if (!skip_damaged_ || !is_of_file || is_lack_of_resources(error)) rethrow_at_line(error, list, line);
  listing_.losses.push_back({.path = list, .why = place_in_text(line) + error.message(), .num_samples = 1});
}

void ListedFiles::require_samples(const std::string& place, std::string_view why, std::string hint) const {
  if (!listing_.rows.samples().empty()) return;
  if (listing_.notices.count() == 0)
    throw Error(ErrorCode::invalid_argument, why, {.path = place, .hint = std::move(hint)});
  throw Error(ErrorCode::invalid_argument, "`include` and `exclude` leave no image",
              {.path = place, .hint = filter_.advice()});
}

FileListing ListedFiles::finish(const std::string& place) {
  filter_.note_unmatched(listing_.notices, place);
  return std::move(listing_);
}

std::optional<PathAndLabel> path_and_label(std::string_view line) {
  line = stripped(line);
  const std::size_t cut = line.find_last_of(" \t");
  if (cut == std::string_view::npos) return std::nullopt;
  return PathAndLabel{.path = stripped(line.substr(0, cut)), .label = line.substr(cut + 1)};
}

std::string ListedFiles::full_path(const Place& place) const {
  return place.is_absolute ? place.path : below(root_, place.path);
}

bool ListedFiles::exists(const Place& place) const {
  struct stat info {};
  return stat_long_path(full_path(place), info) == 0;
}

ListedFiles::Place ListedFiles::place_of(std::string_view path) {
  require_local_name(path);
  Place place{.path = normalized(trimmed(path))};
  place.is_absolute = place.path.starts_with('/');
  // An absolute path below the root gets the same key as its relative path.
  const std::string prefix = root_ == "/" ? root_ : root_ + "/";
  if (place.is_absolute && !root_.empty() && place.path.starts_with(prefix)) {
    place = {.path = place.path.substr(prefix.size())};
  }
  add_extension(place);
  if (!place.is_absolute || exists(place)) return place;
  Place inside{.path = place.path.substr(1)};  // the slash stands for the root, as in Places365
  add_extension(inside);
  return exists(inside) ? inside : place;
}

/// Lists such as Food-101's name images without the extension.
void ListedFiles::add_extension(Place& place) {
  if (is_image_name(place.path) || exists(place)) return;
  const std::string full = full_path(place);
  const ImagesByStem& images = images_in(parent_directory(full));
  const auto found = images.find(base_name(full));
  if (found == images.end()) return;
  if (found->second.empty()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the path \"{}\" is that of several images", printable(place.path)),
                {.hint = "name one with its extension"});
  }
  place.path.resize(place.path.size() - found->first.size());
  place.path += found->second;
}

const ListedFiles::ImagesByStem& ListedFiles::images_in(const std::string& directory) {
  const auto [known, is_new] = images_.try_emplace(directory);
  struct stat info {};
  if (!is_new || stat_long_path(directory, info) != 0 || !S_ISDIR(info.st_mode)) return known->second;
  for (const std::string& name : list_top_level(directory).files) {
    if (!is_image_name(name)) continue;
    const auto [image, is_only] = known->second.try_emplace(std::string(split_file_name(name).stem), name);
    if (!is_only) image->second.clear();
  }
  return known->second;
}

FileRow* ListedFiles::add(const Place& place) {
  const auto& [clean, absolute] = place;
  const std::string_view below_root = std::string_view(clean).substr(absolute ? 1 : 0);
  const std::size_t slash = clean.rfind('/');
  const std::string_view name = std::string_view(clean).substr(slash == std::string::npos ? 0 : slash + 1);
  std::string field = field_name(split_file_name(name).extension);
  if (!filter_.takes_all() && !filter_.takes(std::string(below_root))) {
    listing_.notices.leave_out(clean, NameFilter::k_filtered);
    return nullptr;
  }
  if (!is_utf8(clean) && !exists(place)) {
    throw Error(ErrorCode::not_found, fmt::format("no file \"{}\", whose name is not UTF-8", printable(clean)),
                {.hint = k_utf8_hint});
  }
  const PairRules::Part part = pair_.part_of(name);
  if (pair_.empty()) {
    if (!is_image_field(field)) field = field_by_content(absolute ? clean : below(root_, clean), clean);
  } else if (part.index != 0) {
    if (pair_.has_extension_of(name)) return nullptr;  // part of another row's sample
    throw Error(ErrorCode::damaged, fmt::format("\"{}\" has no extension that `pair` names", printable(clean)),
                {.hint = "correct the line, or leave it out with `exclude`, or all such lines with `on_error` skip"});
  }
  const std::string_view directory = std::string_view(clean).substr(0, slash == std::string::npos ? 0 : slash);
  FileRow& row = listing_.rows.add_sample(directory_id(directory, absolute), name);
  row.field = listing_.image_field(field);
  if (!pair_.empty()) add_companions(row, part.stem);
  return &row;
}

std::uint32_t ListedFiles::directory_id(std::string_view text, bool absolute) {
  const std::string path = absolute ? (text.empty() ? "/" : std::string(text)) : below(root_, text);
  const auto found = directories_.find(path);
  if (found != directories_.end()) return found->second;
  const std::size_t key_start = absolute ? 1 : path.size() - text.size();
  const std::uint32_t id = listing_.rows.add_directory(path, key_start);
  directories_.emplace(path, id);
  return id;
}

void ListedFiles::add_companions(const FileRow& row, std::string_view stem) {
  const std::string directory(listing_.rows.directory(row.directory));
  for (std::size_t which = 1; which < pair_.size(); ++which) {
    if (const PairPath* path = pair_.path(which)) {
      distant_.add(listing_.rows, row, *path);
      continue;
    }
    const std::string name = fmt::format("{}.{}", stem, pair_.extension(which));
    struct stat info {};
    if (stat_long_path(below(directory, name), info) == 0) {
      listing_.rows.add_companion(row.directory, name);
    } else {
      listing_.rows.add_missing_companion();
    }
  }
}

std::string_view ListedFiles::parent_name(const FileRow& row) const {
  const std::string_view path = listing_.rows.key_directory(row.directory);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace bale
