// Whatever the text, braces expand to at most the documented number of names or are refused.
#include <cstdlib>

#include "bale/formats/base/error.hpp"
#include "bale/reader/spec/shard_spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    if (bale::expand_braces({reinterpret_cast<const char*>(data), size}).size() > 1'000'000) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
