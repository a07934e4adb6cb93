#include "bale/tests/fuzz/fuzz_one_kind.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  return bale::test::decode_kind(bale::ImageKind::webp, data, size);
}
