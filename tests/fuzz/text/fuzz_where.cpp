// Whatever the text, a condition is parsed or refused with a column of the text, and can be asked about any sample.
#include <cstdlib>

#include "bale/formats/base/error.hpp"
#include "bale/reader/where.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const auto where = bale::Where::parse({reinterpret_cast<const char*>(data), size});
    if (where.takes_all()) std::abort();
    where.test({});
    where.test({.key = "n01/a",
                .label = 3,
                .class_name = "cat",
                .width = 640,
                .height = 480,
                .bytes = 9000,
                .format = "jpg",
                .shard = "x-000.tar",
                .index = 7});
  } catch (const bale::Error& error) {
    if (error.code() != bale::ErrorCode::invalid_argument || error.context().offset.value_or(size + 1) > size) {
      std::abort();
    }
  }
  return 0;
}
