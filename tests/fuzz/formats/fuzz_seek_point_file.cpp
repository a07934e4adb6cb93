// Whatever the bytes, a file of seek points is refused or every record it gives stays inside it, and so does what a
// decoder reads of one. The checksums are mended first.
#include <cstring>
#include <vector>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

constexpr std::size_t k_header_bytes = 64;

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// INDEX.md: CRC32C of the table at byte 48, of the 60 bytes before it at byte 60.
void mend_checksums(std::vector<std::byte>& bytes) {
  if (bytes.size() < k_header_bytes) return;
  const bale::Bytes body = bale::Bytes(bytes).subspan(k_header_bytes);
  const auto samples = bale::load_at<std::uint64_t>(bytes.data() + 16);
  if (samples <= body.size() / 8) put(bytes, 48, bale::crc32c(body.first(samples * 8)));
  put(bytes, 60, bale::crc32c(bale::Bytes(bytes).first(60)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  mend_checksums(bytes);
  try {
    const auto file = bale::SeekPointFile::from_bytes(std::move(bytes), "fuzz");
    std::uint64_t sum = file.records_are_whole() ? 1 : 0;
    for (std::uint64_t i = 0; i < file.size(); ++i) {
      const auto owner = bale::owner_of_seek_points(file.record(i));
      sum += bale::crc32c(file.record(i)) + (owner ? owner->image_crc32c : 0);
    }
    bale::test::keep(sum);
  } catch (const bale::Error&) {
  }
  return 0;
}
