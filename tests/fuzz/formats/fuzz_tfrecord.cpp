// Records with good checksums around whatever bytes: the messages inside are walked, listed and read, or refused.
#include "bale/formats/base/checksum.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace bale {
extern const Format k_tfrecord_format;
}

namespace {

std::string number(std::uint64_t value, std::size_t bytes) { return {reinterpret_cast<const char*>(&value), bytes}; }

std::string masked_crc(const std::string& bytes) {
  const std::uint32_t crc = bale::crc32c(bale::as_bytes(bytes));
  return number(((crc >> 15) | (crc << 17)) + 0xA282EAD8U, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  bale::test::Pieces input(data, size);
  std::string bytes;
  while (!input.empty()) {
    const std::string record = input.next();
    const std::string length = number(record.size(), 8);
    bytes += length + masked_crc(length) + record + masked_crc(record);
  }
  bale::test::scan_and_read(bale::k_tfrecord_format, bale::test::MemoryFile(bytes).path());
  return 0;
}
