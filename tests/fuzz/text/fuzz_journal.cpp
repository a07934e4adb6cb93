// Whatever the bytes of a journal, it is taken up or refused, and taking it up again finds the same.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/writer/journal/journal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const bale::test::TempDir directory;
  const std::string partial = directory / bale::k_partial_name;
  std::filesystem::create_directories(partial);
  bale::File::create(partial + "/journal.jsonl").write_at(0, bale::test::input_bytes(data, size));
  try {
    std::optional<bale::Journal> journal = bale::Journal::open(directory.path());
    const auto names = journal->content().published_files();
    if (journal->is_unfinished()) journal->resume();
    for (const std::string& name : names) {
      if (name.front() == '/') std::abort();
      for (const auto& part : std::filesystem::path(name)) {
        if (part == "..") std::abort();
      }
    }
    journal.reset();
    journal = bale::Journal::open(directory.path());
    if (journal->content().published_files() != names) std::abort();
    if (journal->content().replacement) journal->finish_replacement();
  } catch (const bale::Error&) {
  }
  return 0;
}
