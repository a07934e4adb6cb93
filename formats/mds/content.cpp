#include "bale/formats/mds/content.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale::mds {
namespace {

constexpr std::string_view k_others[] = {"br", "bz2", "gz", "snappy"};

}  // namespace

bool is_readable_compression(std::string_view name) { return name.substr(0, name.find(':')) == "zstd"; }

bool is_compressed(const std::string& path) {
  std::array<std::byte, 4> head{};
  return begins_like_zstd(Bytes(head).first(File::open_read(path).read_some(0, head)));
}

std::string_view compression_in_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || !path.substr(0, dot).ends_with(".mds")) return {};
  return path.substr(dot + 1);
}

void refuse_other_compression(const std::string& path) {
  const std::string_view name = compression_in_name(path);
  if (std::find(std::begin(k_others), std::end(k_others), name) == std::end(k_others)) return;
  throw Error(ErrorCode::unsupported, fmt::format("compressed by {}, bale reads zstd", name),
              {.path = path, .hint = "decompress the shards, or write them with compression=\"zstd\""});
}

std::unique_ptr<Stream> open_content(const std::string& path, bool compressed) {
  return compressed ? open_zstd_stream(path) : open_plain_stream(path);
}

namespace {

constexpr std::uint64_t k_word = sizeof(std::uint32_t);
constexpr std::uint64_t k_max_config_bytes = std::uint64_t{16} << 20;

/// The content of a shard, and its name for messages.
struct Source {
  const Stream& content;
  const std::string& path;
};

[[noreturn]] void fail(const Source& file, std::uint64_t offset, std::string_view what) {
  throw Error(ErrorCode::damaged, what, {.path = file.path, .offset = offset, .hint = "copy it again"});
}

std::uint32_t word_at(const Source& file, std::uint64_t offset) {
  std::byte bytes[k_word];
  file.content.read_exact(offset, bytes);
  return load_at<std::uint32_t>(bytes);
}

/// Where the table of offsets ends and the configuration begins.
std::uint64_t end_of_table(const Source& file) {
  const std::uint64_t bytes = file.content.size();
  if (bytes < 2 * k_word) fail(file, 0, "shorter than the header of an MDS shard");
  const std::uint64_t end = k_word * (std::uint64_t{word_at(file, 0)} + 2);
  if (end > bytes) fail(file, 0, "the table of samples goes beyond the end of the file");
  return end;
}

std::vector<Column> parse_config(const Source& file, std::uint64_t begin, std::uint64_t end) {
  if (end < begin || end > file.content.size()) fail(file, k_word, "the first sample is not after the header");
  if (end - begin > k_max_config_bytes) fail(file, begin, "a configuration of more than 16 MiB");
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  file.content.read_exact(begin, {reinterpret_cast<std::byte*>(text.data()), text.size()});
  try {
    return parse_columns(parse_json(text));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("configuration: {}", error.message()),
                {.path = file.path, .offset = begin, .hint = error.context().hint});
  }
}

}  // namespace

Header read_header(const Stream& content, const std::string& path) {
  const Source file{content, path};
  const std::uint64_t table_end = end_of_table(file);
  Header header;
  header.offsets.resize(static_cast<std::size_t>(table_end / k_word - 1));
  file.content.read_exact(k_word, std::as_writable_bytes(std::span(header.offsets)));
  for (std::size_t i = 0; i + 1 < header.offsets.size(); ++i) {
    if (header.offsets[i] > header.offsets[i + 1]) {
      fail(file, k_word * (i + 1), fmt::format("sample {} ends before it begins", i));
    }
  }
  if (header.offsets.back() != file.content.size()) {
    fail(file, k_word * header.offsets.size(),
         fmt::format("file has {} bytes, its header says {}", file.content.size(), header.offsets.back()));
  }
  header.columns = parse_config(file, table_end, header.offsets.front());
  return header;
}

std::vector<Column> read_columns(const Stream& content, const std::string& path) {
  const Source file{content, path};
  const std::uint64_t table_end = end_of_table(file);
  return parse_config(file, table_end, word_at(file, k_word));
}

}  // namespace bale::mds
