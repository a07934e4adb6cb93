// Records in parts of whatever kind and bytes: put together, listed and read, or refused.
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace bale {
extern const Format k_recordio_format;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  bale::test::Pieces input(data, size);
  std::string bytes;
  while (!input.empty()) {
    const std::uint32_t kind = input.byte() % 5U;
    const std::string part = input.next();
    const std::uint32_t words[] = {0xCED7230A, kind << 29 | static_cast<std::uint32_t>(part.size())};
    bytes.append(reinterpret_cast<const char*>(words), sizeof words).append(part);
    bytes.append((4 - bytes.size() % 4) % 4, '\0');
  }
  bale::test::scan_and_read(bale::k_recordio_format, bale::test::MemoryFile(bytes).path());
  return 0;
}
