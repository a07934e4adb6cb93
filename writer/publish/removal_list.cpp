#include "bale/writer/publish/removal_list.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/writer/change.hpp"

namespace bale {
namespace {

constexpr std::string_view k_line_begin = "removed:";
constexpr std::string_view k_digest_begin = "xxh3:";
constexpr std::size_t k_digest_digits = 32;
constexpr std::uint64_t k_max_list_bytes = std::uint64_t{8} << 30;

std::string digest_of_text(Bytes text) {
  DigestStream stream;
  stream.update(text);
  return digest_text(stream.digest());
}

/// All of `text`, in lower-case digits.
template <typename Number>
std::optional<Number> number_in(std::string_view text, int base) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string line_of(std::uint64_t key, const std::optional<ImageMark>& image) {
  std::string line = fmt::format("{}{:016x}", k_line_begin, key);
  if (image) {
    line += fmt::format(":{}:{:08x}:{}", image->bytes, image->crc32c,
                        std::string_view(image->digest).substr(k_digest_begin.size()));
  }
  return line;
}

}  // namespace

ImageMark ImageMark::of(Bytes image) {
  return {.bytes = image.size(), .crc32c = bale::crc32c(image), .digest = digest_of_text(image)};
}

RemovalList RemovalList::load(const std::string& directory, const Manifest& manifest) {
  RemovalList list;
  for (const ManifestRemovals& removals : manifest.removals) {
    const std::string path = join_path(directory, removal_list_name(removals.digest));
    const std::vector<std::byte> text = read_file(path, k_max_list_bytes);
    if (digest_of_text(text) == removals.digest) {
      RemovalList one = parse(as_text(text));
      const bool is_whole = one.size() == removals.num_samples;
      list.empty() ? list = std::move(one) : list.add(one);
      if (is_whole) continue;
    }
    throw Error(ErrorCode::damaged, "is not the list of removed samples that the manifest names",
                {.path = path, .hint = "copy the whole dataset again"});
  }
  return list;
}

RemovalList RemovalList::parse(std::string_view text) {
  RemovalList list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    if (!list.add_line(text.substr(0, end))) break;
    text.remove_prefix(end + 1);
  }
  return list;
}

void RemovalList::add(std::string_view key, const std::optional<ImageMark>& image) {
  add_line(line_of(hash_key(key), image));
}

bool RemovalList::add_line(std::string_view line) {
  if (!line.starts_with(k_line_begin)) return false;
  std::vector<std::string_view> parts;
  for (std::string_view rest = line.substr(k_line_begin.size());;) {
    const std::size_t end = rest.find(':');
    parts.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  const std::optional<std::uint64_t> key = number_in<std::uint64_t>(parts.front(), 16);
  std::optional<ImageMark> image;
  if (parts.size() == 4) {
    const auto bytes = number_in<std::uint64_t>(parts[1], 10);
    const auto crc = number_in<std::uint32_t>(parts[2], 16);
    if (!bytes || !crc || parts[3].size() != k_digest_digits ||
        parts[3].find_first_not_of("0123456789abcdef") != std::string_view::npos) {
      return false;
    }
    image = {.bytes = *bytes, .crc32c = *crc, .digest = fmt::format("{}{}", k_digest_begin, parts[3])};
  }
  if (!key || (parts.size() != 1 && !image) || line_of(*key, image) != line) return false;
  lines_.emplace(line);
  keys_.insert(*key);
  if (image) {
    sizes_.insert(image->bytes);
    checksums_.insert(image->crc32c);
    images_.insert(std::move(image->digest));
  }
  return true;
}

std::string RemovalList::text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + '\n';
  return text;
}

RemovalList& RemovalList::add(const RemovalList& other) {
  for (const std::string& line : other.lines_) add_line(line);
  return *this;
}

void RemovalList::subtract(const RemovalList& other) {
  std::erase_if(lines_, [&](const std::string& line) { return other.lines_.contains(line); });
}

bool RemovalList::has_sample(const ShardIndex& index, std::uint64_t row, const std::function<Bytes()>& read) const {
  if (has_key(index.key(row))) return true;
  const std::optional<std::uint32_t> field = index.image_field(row);
  if (!field || (index.has_checksums() && !may_have_checksum(index.extent(row, *field).crc32c))) return false;
  return has_image(read());
}

bool RemovalList::has_key(std::string_view key) const { return keys_.contains(hash_key(key)); }

bool RemovalList::has_image(Bytes image) const {
  return may_have_image(image.size()) && images_.contains(digest_of_text(image));
}

std::string removal_list_name(std::string_view digest_text) {
  return fmt::format("{}/{}.removed", k_layers_name, digest_text.substr(digest_text.find(':') + 1));
}

ManifestRemovals describe_removals(const RemovalList& list, const std::string& text) {
  return {.digest = digest_of_text(as_bytes(text)), .num_samples = list.size()};
}

std::string removals_text(const std::string& directory, const Manifest& manifest) {
  return RemovalList::load(directory, manifest).text();
}

}  // namespace bale
