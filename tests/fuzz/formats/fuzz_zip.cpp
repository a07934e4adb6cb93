// Whatever the bytes of a ZIP archive: its images are listed or it is refused, and every field that is listed can be
// read or is refused.
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace bale {
extern const Format k_zip_format;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  bale::test::scan_and_read(bale::k_zip_format,
                            bale::test::MemoryFile({reinterpret_cast<const char*>(data), size}).path());
  return 0;
}
