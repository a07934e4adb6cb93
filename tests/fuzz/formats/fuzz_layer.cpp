// Whatever the bytes, a layer is refused, or it is written as it was read. The checksums are mended first, since a
// fuzzer would hardly get past them.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/layer.hpp"

namespace {

/// LAYER.md: CRC32C of the body at byte 40, of the 44 bytes before it at byte 44.
void mend_checksums(std::vector<std::byte>& bytes) {
  if (bytes.size() < 48) return;
  const std::uint32_t body = bale::crc32c(bale::Bytes(bytes).subspan(48));
  std::memcpy(bytes.data() + 40, &body, sizeof body);
  const std::uint32_t header = bale::crc32c(bale::Bytes(bytes).first(44));
  std::memcpy(bytes.data() + 44, &header, sizeof header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  mend_checksums(bytes);
  try {
    if (bale::layer_bytes(bale::parse_layer(bytes, "fuzz")) != bytes) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
