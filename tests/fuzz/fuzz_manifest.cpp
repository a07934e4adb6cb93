// Whatever the bytes, a manifest is parsed or refused; what was parsed can be written and parsed again.
#include <cstdlib>
#include <string>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const std::string text =
        bale::manifest_text(bale::parse_manifest({reinterpret_cast<const char*>(data), size}, "fuzz"));
    if (bale::manifest_text(bale::parse_manifest(text, "fuzz")) != text) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
