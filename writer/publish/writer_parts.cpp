#include "bale/writer/publish/writer_parts.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/destination/directory.hpp"
#include "bale/writer/journal/journal.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_parts = 1'000'000;
constexpr const char* k_merged_name = "merged";
constexpr std::size_t k_max_fingerprint_bytes = 256;

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::string name_of(std::uint64_t part, std::uint64_t parts) { return fmt::format("{:05}-of-{:05}", part, parts); }

std::optional<WriterPart> part_of_name(const std::string& name) {
  std::string_view rest = name;
  const auto part = take_number(rest);
  if (!part || !rest.starts_with("-of-")) return std::nullopt;
  rest.remove_prefix(4);
  const auto parts = take_number(rest);
  if (!parts || name != name_of(*part, *parts)) return std::nullopt;
  return WriterPart{.part = *part, .parts = *parts, .directory = {}};
}

std::vector<std::string> names_below(const std::string& path) {
  if (!name_is_taken(path)) return {};
  return Directory::open(path).names();
}

void remove_directory(const Directory& parent, const std::string& name) {
  const std::optional<Directory> directory = parent.find(name);
  if (!directory) return;
  for (const std::string& file : directory->names()) directory->remove(file);
  if (!parent.remove_directory(name)) throw_errno("remove", directory->path());
}

}  // namespace

std::string place_of_writer_part(const std::string& destination, std::pair<std::uint64_t, std::uint64_t> part) {
  require_local_name(destination, UrlUse::writing);
  if (part.second == 0 || part.second > k_max_parts || part.first >= part.second) {
    throw Error(ErrorCode::invalid_argument, fmt::format("there is no part {} of {}", part.first, part.second),
                {.hint = fmt::format("parts are numbered from 0, and there are at most {}", k_max_parts)});
  }
  const auto refuse = [&](std::string_view why, std::string_view hint) {
    throw Error(ErrorCode::exists, why, {.path = destination, .hint = std::string(hint)});
  };
  for (const std::string& name : names_below(destination)) {
    if (name == k_writer_parts_name) continue;
    if (name == k_manifest_name) refuse("is not empty: it holds a packed dataset", "choose another directory");
    if (name == k_partial_name)
      refuse("parts are being merged here, or it holds an unfinished pack", "finish that first");
    refuse("is not empty", "choose another directory for the parts");
  }
  for (const WriterPart& other : find_writer_parts(destination)) {
    if (other.parts == part.second) continue;
    refuse(fmt::format("holds parts of {}, not of {}", other.parts, part.second),
           "give every Writer the same number of parts, or delete the directory");
  }
  return join_path(join_path(destination, k_writer_parts_name), name_of(part.first, part.second));
}

std::vector<WriterPart> find_writer_parts(const std::string& destination) {
  const std::string directory = join_path(destination, k_writer_parts_name);
  std::vector<WriterPart> parts;
  for (const std::string& name : names_below(directory)) {
    std::optional<WriterPart> part = part_of_name(name);
    if (!part) continue;
    part->directory = join_path(directory, name);
    parts.push_back(std::move(*part));
  }
  std::sort(parts.begin(), parts.end(), [](const WriterPart& a, const WriterPart& b) { return a.part < b.part; });
  return parts;
}

void refuse_writer_parts(const std::string& destination) {
  if (find_writer_parts(destination).empty()) return;
  throw Error(ErrorCode::exists, "holds parts of Writers that are not merged",
              {.path = destination, .hint = "merge them with `bale merge`, or delete the directory"});
}

void remove_writer_parts(const std::string& destination, const std::string& fingerprint) {
  const Directory root = Directory::open(destination);
  const std::optional<Directory> parts = root.find(k_writer_parts_name);
  if (!parts) return;
  publish_file(join_path(parts->path(), k_merged_name), as_bytes(fingerprint));
  for (const std::string& name : parts->names()) {
    if (part_of_name(name)) remove_directory(*parts, name);
  }
  parts->sync();
  parts->remove(k_merged_name);
  remove_stale_temporaries(parts->path());  // of a merge that was killed here
  if (root.remove_directory(k_writer_parts_name)) root.sync();
}

std::string merged_fingerprint(const std::string& destination) {
  const std::string path = join_path(join_path(destination, k_writer_parts_name), k_merged_name);
  if (!name_is_taken(path)) return {};
  return std::string(as_text(read_file(path, k_max_fingerprint_bytes)));
}

}  // namespace bale
