// Whatever the bytes, an index is refused or every answer it can give stays inside them. The checksums are
// mended first, since a fuzzer would hardly get past them.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

/// INDEX.md: CRC32C of the body at byte 72, of the 76 bytes before it at byte 76.
void mend_checksums(std::vector<std::byte>& bytes) {
  if (bytes.size() < 80) return;
  const std::uint32_t body = bale::crc32c(bale::Bytes(bytes).subspan(80));
  std::memcpy(bytes.data() + 72, &body, sizeof body);
  const std::uint32_t header = bale::crc32c(bale::Bytes(bytes).first(76));
  std::memcpy(bytes.data() + 76, &header, sizeof header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  mend_checksums(bytes);
  try {
    const auto index = bale::ShardIndex::from_bytes(std::move(bytes), "fuzz");
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      sum += index.key(i).size() + static_cast<std::uint64_t>(index.label(i)) + index.width(i) + index.height(i);
      sum += static_cast<std::uint64_t>(index.condition(i)) + index.image_field(i).value_or(0);
      for (const auto& [field, extent] : index.row(i)) {
        // What is present can be added up without overflow, and is the same whichever way it is asked for.
        const bool ends_after_begin = !index.fields()[field].located || extent.offset + extent.length >= extent.offset;
        if (!ends_after_begin || !index.extent(i, field).present()) std::abort();
        sum += extent.length + index.fields()[field].name.size();
      }
      if (!index.fields().empty()) sum += index.extent(i, static_cast<std::uint32_t>(index.fields().size() - 1)).length;
      sum += index.find(index.key(i)).value_or(0);
    }
    bale::test::keep(sum);
  } catch (const bale::Error&) {
  }
  return 0;
}
