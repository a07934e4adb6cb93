#include <zlib.h>

#include <cstring>
#include <new>

#include "bale/formats/hdf5/file/chunks.hpp"
#include "bale/formats/hdf5/library/lzf.hpp"

namespace bale::h5 {
namespace {

constexpr std::uint64_t k_checksum_bytes = 4;

[[noreturn]] void fail(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, why, {.path = path, .hint = "copy or pack it again"});
}

std::vector<std::byte> inflate_all(const std::vector<std::byte>& stored, std::uint64_t limit, const std::string& path) {
  std::vector<std::byte> plain(limit);
  uLongf plain_bytes = plain.size();
  uLong stored_bytes = stored.size();
  const int result = uncompress2(reinterpret_cast<Bytef*>(plain.data()), &plain_bytes,
                                 reinterpret_cast<const Bytef*>(stored.data()), &stored_bytes);
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK) fail(path, "a compressed chunk does not decompress");
  plain.resize(plain_bytes);
  return plain;
}

std::vector<std::byte> unpack_lzf(const std::vector<std::byte>& stored, std::uint64_t limit, const std::string& path) {
  std::vector<std::byte> plain;
  if (!lzf_decompress(stored, limit, plain)) fail(path, "a compressed chunk does not decompress");
  return plain;
}

std::vector<std::byte> unshuffle(const std::vector<std::byte>& stored, std::size_t width) {
  const std::size_t count = width == 0 ? 0 : stored.size() / width;
  if (width < 2 || count < 2) return stored;
  std::vector<std::byte> plain(stored);  // bytes after the last whole element are not shuffled
  for (std::size_t byte = 0; byte < width; ++byte) {
    for (std::size_t i = 0; i < count; ++i) plain[i * width + byte] = stored[byte * count + i];
  }
  return plain;
}

/// Fletcher-32 over big-endian 16-bit words, both sums modulo 65535 (format specification, filter 3).
std::uint32_t fletcher32(Bytes bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto next = i + 1 < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i + 1]) : 0;
    low = (low + (std::to_integer<std::uint64_t>(bytes[i]) << 8) + next) % 65535;
    high = (high + low) % 65535;
  }
  return static_cast<std::uint32_t>(high << 16 | low);
}

void strip_fletcher32(std::vector<std::byte>& stored, const std::string& path) {
  if (stored.size() < k_checksum_bytes) fail(path, "a chunk is shorter than its checksum");
  std::uint32_t wanted = 0;
  std::memcpy(&wanted, stored.data() + stored.size() - k_checksum_bytes, sizeof wanted);
  stored.resize(stored.size() - k_checksum_bytes);
  const std::uint32_t found = fletcher32(stored);
  // The library's sums are in 1..65535, ours in 0..65534. They are equal modulo 65535.
  if ((wanted >> 16) % 65535 != found >> 16 || (wanted & 0xFFFF) % 65535 != (found & 0xFFFF)) {
    fail(path, "a chunk's Fletcher-32 checksum does not match");
  }
}

}  // namespace

std::vector<std::byte> undo_filters(const std::vector<ChunkFilter>& filters, std::uint32_t skipped,
                                    std::vector<std::byte> stored, std::uint64_t plain_bytes, const std::string& path) {
  for (std::size_t i = filters.size(); i-- > 0;) {
    if ((skipped >> i & 1U) != 0) continue;
    switch (filters[i].kind) {
      case ChunkFilter::Kind::deflate:
        stored = inflate_all(stored, plain_bytes + k_checksum_bytes * filters.size(), path);
        break;
      case ChunkFilter::Kind::lzf:
        stored = unpack_lzf(stored, plain_bytes + k_checksum_bytes * filters.size(), path);
        break;
      case ChunkFilter::Kind::shuffle:
        stored = unshuffle(stored, filters[i].element_bytes);
        break;
      case ChunkFilter::Kind::fletcher32:
        strip_fletcher32(stored, path);
        break;
    }
  }
  if (stored.size() != plain_bytes) fail(path, "a chunk does not have the size it must have");
  return stored;
}

}  // namespace bale::h5
