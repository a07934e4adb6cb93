// Whatever the bytes, a manifest is parsed or refused; what was parsed can be written and parsed again. Its checksum is
// taken away, since a fuzzer would hardly get past it.
#include <cstdlib>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string given(reinterpret_cast<const char*>(data), size);
  const auto end = given.rfind(",\n \"checksum\"");
  if (end != std::string::npos) given.replace(end, given.npos, "\n}\n");
  try {
    const std::string text = bale::manifest_text(bale::parse_manifest(given, "fuzz"));
    if (bale::manifest_text(bale::parse_manifest(text, "fuzz")) != text) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
