// An archive that our scanner reads to its end without a notice of what it did not read holds for libarchive the same
// regular files, in order, of the same names and sizes. The checksums of headers are mended first, since a fuzzer would
// hardly get past them.
#include <archive.h>
#include <archive_entry.h>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/tar/reading/scanner.hpp"
#include "bale/tests/fuzz/fuzz_support.hpp"

namespace {

using bale::tar::k_block_bytes;

struct Listed {
  std::string name;
  std::uint64_t size;
  bool operator==(const Listed&) const = default;
};

void print(const char* whose, const std::vector<Listed>& files) {
  for (const Listed& file : files) {
    std::fprintf(stderr, "%s: %s, %s bytes\n", whose, bale::printable(file.name).c_str(),
                 std::to_string(file.size).c_str());
  }
}

/// What looks like a header gets the checksum that it needs, and a type that means something: of others POSIX says that
/// they are files, as libarchive has it, but for Python's tarfile they are not, and for us neither. GNU's list of a
/// sparse file's parts is taken out of other types, where libarchive alone heeds it.
void mend_headers(std::vector<std::byte>& bytes) {
  constexpr std::string_view k_types(
      "\0"
      "01234567gxXLKS",
      15);
  for (std::size_t at = 0; at + k_block_bytes <= bytes.size(); at += k_block_bytes) {
    const auto block = std::span(bytes).subspan(at, k_block_bytes);
    if (!bale::tar::has_ustar_magic(block)) continue;
    std::byte& type = block[156];
    if (k_types.find(static_cast<char>(type)) == k_types.npos) type = std::byte{'0'};
    if (block[262] == std::byte{' '} && type != std::byte{'S'}) std::memset(&block[386], 0, 109);
    std::memset(&block[148], ' ', 8);
    unsigned sum = 0;
    for (const std::byte byte : block) sum += static_cast<unsigned>(byte);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    std::memcpy(&block[148], text, 7);
  }
}

/// nullopt where we refuse it, leave it to libarchive, or say what we do not read.
std::optional<std::vector<Listed>> listed_by_us(const std::string& path) {
  std::vector<Listed> files;
  try {
    const auto stream = bale::tar::open_stream(path, bale::Compression::none);
    bale::NoticeLog notices;
    bale::tar::Scanner scanner(*stream, path, notices);
    for (bale::tar::Member member;;) {
      const auto step = scanner.next(member);
      if (step == bale::tar::Scanner::Step::odd) return std::nullopt;
      if (step == bale::tar::Scanner::Step::end) return notices.empty() ? std::optional(files) : std::nullopt;
      if (member.kind != bale::tar::Member::Kind::file) continue;
      // Such a file is a directory for libarchive, whatever its type, and no sample for anyone.
      if (!member.name.ends_with('/')) files.push_back({std::string(member.name), member.size});
    }
  } catch (const bale::Error&) {
    return std::nullopt;
  }
}

/// nullopt where libarchive refuses it.
std::optional<std::vector<Listed>> listed_by_libarchive(const std::string& path) {
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_format_tar(reader.get());
  archive_read_set_option(reader.get(), "tar", "read_concatenated_archives",
                          "1");  // we read on after the end marks, too
  if (archive_read_open_filename(reader.get(), path.c_str(), k_block_bytes) != ARCHIVE_OK) return std::nullopt;
  std::vector<Listed> files;
  for (archive_entry* entry = nullptr;;) {
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) return files;
    if (result != ARCHIVE_OK) return std::nullopt;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) continue;
    const char* const name = archive_entry_pathname(entry);
    files.push_back({name != nullptr ? name : "", static_cast<std::uint64_t>(archive_entry_size(entry))});
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const bale::Bytes given = bale::test::input_bytes(data, size);
  std::vector<std::byte> bytes(given.begin(), given.end());
  mend_headers(bytes);
  const bale::test::MemoryFile file(bale::as_text(bytes));
  const auto ours = listed_by_us(file.path());
  const auto theirs = ours ? listed_by_libarchive(file.path()) : std::nullopt;
  if (theirs && *theirs != *ours) {
    print("ours", *ours);
    print("theirs", *theirs);
    std::abort();
  }
  return 0;
}
