// Whatever the bytes of a file, every format whose scan is said to survive damage lists its samples or
// refuses it, and every field it lists can be read or is refused.
#include "bale/formats/registry/registry.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::test::MemoryFile file({reinterpret_cast<const char*>(data), size});
  for (const bale::Format* format : bale::formats()) {
    if (format->scan_survives_damage) bale::test::scan_and_read(*format, file.path());
  }
  return 0;
}
