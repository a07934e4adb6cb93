// Whatever the bytes of a LitData chunk and of the index.json next to it: its samples are listed or it is refused, and
// every field that is listed can be read or is refused. The input is the index, a zero, and the chunk, which is listed
// as "chunk-0-0.bin".
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bale/tests/fuzz/fuzz_support.hpp"

namespace bale {
extern const Format k_litdata_format;
}

namespace {

/// A directory for the two files, removed when the program ends.
class Place {
 public:
  Place() {
    if (::mkdtemp(directory_) == nullptr) std::abort();
  }
  ~Place() {
    ::unlink(path("index.json").c_str());
    ::unlink(path("chunk-0-0.bin").c_str());
    ::rmdir(directory_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::string path(const char* name) const { return std::string(directory_) + "/" + name; }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<long>(bytes.size()));
  }

 private:
  char directory_[26] = "/tmp/bale-fuzz-lit-XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const Place place;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  place.write("index.json", input.substr(0, end));
  place.write("chunk-0-0.bin", end == std::string_view::npos ? std::string_view() : input.substr(end + 1));
  bale::test::scan_and_read(bale::k_litdata_format, place.path("chunk-0-0.bin"));
  return 0;
}
