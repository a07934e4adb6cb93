// Records with good checksums around whatever bytes: the messages inside are walked, listed and read, or refused.
#include <fuzzer/FuzzedDataProvider.h>

#include "bale/formats/core/checksum.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

std::string number(std::uint64_t value, std::size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}

std::string masked_crc(const std::string& bytes) {
  const std::uint32_t crc = bale::crc32c(bale::as_bytes(bytes));
  return number(((crc >> 15) | (crc << 17)) + 0xA282EAD8U, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const bale::Format& format = *bale::find_format("tfrecord").format;
  FuzzedDataProvider input(data, size);
  std::string bytes;
  while (input.remaining_bytes() > 0) {
    const std::string record = input.ConsumeRandomLengthString();
    const std::string length = number(record.size(), 8);
    bytes += length + masked_crc(length) + record + masked_crc(record);
  }
  bale::test::scan_and_read(format, bale::test::MemoryFile(bytes).path());
  return 0;
}
