#include "bale/formats/mds/compression.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

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

}  // namespace bale::mds
