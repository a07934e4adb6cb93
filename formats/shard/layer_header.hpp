// What the files of all kinds of layers begin with. Format: formats/shard/LAYER.md. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/codec/checked_header.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {

inline constexpr char k_layer_magic[8] = {'B', 'A', 'L', 'E', 'L', 'A', 'Y', '\0'};
inline constexpr std::uint32_t k_layer_version = 1;

struct LayerHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t kind;
  std::uint64_t num_shards;
  std::uint64_t num_rows;
  std::uint64_t file_bytes;
  std::uint32_t body_crc32c;  // of a field: of the rest of the head
  std::uint32_t header_crc32c;
};
static_assert(sizeof(LayerHeader) == 48);

[[noreturn]] inline void fail_damaged_layer(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("damaged layer: {}", why),
              {.path = path, .hint = "copy the whole dataset again"});
}

/// Throws `damaged` and `unsupported`.
inline LayerHeader load_layer_header(Bytes bytes, const std::string& path) {
  return load_checked_header<LayerHeader>(bytes, k_layer_magic, k_layer_version, "layer", path,
                                          [&](std::string_view why) { fail_damaged_layer(path, why); });
}

inline std::string digest_of_content(Bytes content) {
  DigestStream stream;
  stream.update(content);
  return digest_text(stream.digest());
}

}  // namespace bale
