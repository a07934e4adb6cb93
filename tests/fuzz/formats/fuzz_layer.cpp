// Whatever the bytes, a layer is refused, or it is written as it was read; of the values of a field, all can be asked
// for. The checksums are mended first, since a fuzzer would hardly get past them.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/field_layer.hpp"
#include "bale/formats/shard/layer.hpp"

namespace {

/// LAYER.md: CRC32C of the body at byte 40, of the 44 bytes before it at byte 44.
void mend_checksums(std::vector<std::byte>& bytes, std::size_t body_end) {
  if (bytes.size() < 48) return;
  const std::uint32_t body = bale::crc32c(bale::Bytes(bytes).first(body_end).subspan(48));
  std::memcpy(bytes.data() + 40, &body, sizeof body);
  const std::uint32_t header = bale::crc32c(bale::Bytes(bytes).first(44));
  std::memcpy(bytes.data() + 44, &header, sizeof header);
}

bale::Digest digest_of(bale::Bytes bytes) {
  bale::DigestStream stream;
  stream.update(bytes);
  return stream.digest();
}

bool is_field(const std::vector<std::byte>& bytes) {
  constexpr std::size_t k_kind_at = 12;
  return bytes.size() >= 56 && bale::load_at<std::uint32_t>(bytes.data() + k_kind_at) == 3;
}

/// Also mends the digests of rows that are in the file. Returns the size of the head.
std::size_t mend_field(std::vector<std::byte>& bytes) {
  const std::uint64_t num_shards = bale::load_at<std::uint64_t>(bytes.data() + 16);
  const std::uint64_t begin = std::uint64_t{56} + bale::load_at<std::uint32_t>(bytes.data() + 48) +
                              bale::load_at<std::uint32_t>(bytes.data() + 52);
  std::size_t head = bytes.size();
  if (begin <= bytes.size() && num_shards <= (bytes.size() - begin) / 64) head = begin + num_shards * 64;
  std::uint64_t rows = 0;
  for (std::size_t at = begin; at + 64 <= head; at += 64) {
    const std::uint64_t end = bale::load_at<std::uint64_t>(bytes.data() + at + 48);
    if (end < rows || end > (bytes.size() - head) / 12) break;
    const bale::Digest digest = digest_of(bale::Bytes(bytes).subspan(head + rows * 12, (end - rows) * 12));
    std::memcpy(bytes.data() + at + 16, digest.data(), digest.size());
    rows = end;
  }
  mend_checksums(bytes, head);
  return head;
}

void read_field(std::vector<std::byte> bytes) {
  const std::size_t head = mend_field(bytes);
  const std::string name = bale::layer_name(bale::digest_text(digest_of(bale::Bytes(bytes).first(head))));
  const auto directory = std::filesystem::temp_directory_path() / ("bale-fuzz-layer-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = directory / bale::base_name(name);
  bale::File::create(path).write_at(0, bytes);
  try {
    const bale::FieldLayer layer = bale::FieldLayer::open(path);
    for (std::size_t shard = 0; shard < layer.shards().size(); ++shard) {
      std::uint64_t at = layer.values_at(shard);
      layer.has_values_as_written(shard);
      for (const bale::FieldLayerRow& row : layer.rows(shard)) {
        std::vector<std::byte> value(layer.prefix().size() + row.bytes);
        layer.read(at, value);
        at += row.bytes;
      }
    }
  } catch (const bale::Error&) {
  }
  std::filesystem::remove_all(directory);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  if (is_field(bytes)) {
    read_field(bytes);
    return 0;
  }
  mend_checksums(bytes, bytes.size());
  try {
    if (bale::layer_bytes(bale::parse_layer(bytes, "fuzz")) != bytes) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
