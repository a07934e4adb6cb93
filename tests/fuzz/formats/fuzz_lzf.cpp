// LZF streams: whatever they say, no more than the limit comes out, and nothing outside them is read.
#include <cstdlib>

#include "bale/formats/hdf5/library/lzf.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t limit = data[0] | std::uint64_t{data[1]} << 8;
  std::vector<std::byte> plain;
  const bool good = bale::h5::lzf_decompress(bale::test::input_bytes(data + 2, size - 2), limit, plain);
  if (plain.size() > limit) std::abort();
  if (good && !plain.empty()) bale::test::keep(std::to_integer<std::uint64_t>(plain.back()));
  return 0;
}
