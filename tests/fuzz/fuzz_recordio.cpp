// Records in parts of whatever kind and bytes: put together, listed and read, or refused.
#include <fuzzer/FuzzedDataProvider.h>

#include "bale/tests/fuzz/fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const bale::Format& format = *bale::find_format("recordio").format;
  FuzzedDataProvider input(data, size);
  std::string bytes;
  while (input.remaining_bytes() > 0) {
    const std::string part = input.ConsumeRandomLengthString();
    const auto kind = input.ConsumeIntegralInRange<std::uint32_t>(0, 4);
    const std::uint32_t words[] = {0xCED7230A, kind << 29 | static_cast<std::uint32_t>(part.size())};
    bytes.append(reinterpret_cast<const char*>(words), sizeof words).append(part);
    bytes.append((4 - bytes.size() % 4) % 4, '\0');
  }
  bale::test::scan_and_read(format, bale::test::MemoryFile(bytes).path());
  return 0;
}
