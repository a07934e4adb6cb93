// Whatever the bytes of a journal, it is taken up or refused, and taking it up again finds the same.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "bale/formats/core/error.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/writer/journal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const bale::test::TempDir directory;
  const std::string partial = directory / bale::k_partial_name;
  std::filesystem::create_directories(partial);
  bale::File::create(partial + "/journal.jsonl").write_at(0, bale::test::input_bytes(data, size));
  try {
    const auto names = bale::Journal::published_files(directory.path());
    const auto finished = bale::Journal::resume(directory.path(), "fuzz", {}).finished();
    for (const std::string& name : names) {
      if (name.front() == '/') std::abort();
      for (const auto& part : std::filesystem::path(name)) {
        if (part == "..") std::abort();
      }
    }
    if (names.size() < 2 * finished.size()) std::abort();
    if (bale::Journal::published_files(directory.path()) != names) std::abort();
  } catch (const bale::Error&) {
  }
  return 0;
}
