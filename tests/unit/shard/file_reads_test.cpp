// Reads around the page cache, and large ones into it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "bale/formats/base/direct_file.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/read_limit.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

std::vector<std::byte> write_random(const std::string& path, std::size_t size) {
  std::vector<std::byte> bytes(size);
  KeyedRandom random{3};
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  File file = File::create(path);
  file.write_at(0, bytes);
  file.sync();
  return bytes;
}

}  // namespace

TEST_CASE_METHOD(test::InTempDir, "A new file takes the name of a link, and leaves alone what the link leads to") {
  const std::string victim = dir / "victim";
  const std::string link = dir / "link";
  const std::vector<std::byte> expected = write_random(victim, 100);
  REQUIRE(::symlink(victim.c_str(), link.c_str()) == 0);
  CHECK(write_random(link, 50).size() == 50);
  CHECK(read_file(victim) == expected);
  CHECK(read_file(link).size() == 50);
}

TEST_CASE_METHOD(test::InTempDir, "A file's bytes arrive wherever in its page their place lies") {
  const std::string path = dir / "file";
  const auto expected = write_random(path, 200'001);
  const File file = File::open_read(path);
  std::vector<std::byte> memory(250'000);
  const std::uint64_t page = reinterpret_cast<std::uintptr_t>(memory.data());
  for (const std::uint64_t offset : {0, 1, 4095, 90'007}) {
    for (const std::uint64_t ahead : {0, 1, 16, 31, 32, 63, 64, 4095}) {
      for (const std::size_t size : {1, 4095, 4096, 16'384, 16'385, 109'994}) {
        const std::size_t begin = (offset + ahead - page) % k_page_bytes;
        const MutableBytes out = MutableBytes(memory).subspan(begin, size);
        CHECK(copies_slowly(offset, out.data(), size) == (size >= 4096 && ahead > 0 && ahead < 64));
        std::fill(memory.begin(), memory.end(), std::byte{0x5A});
        file.read_exact(offset, out);
        REQUIRE(std::memcmp(out.data(), expected.data() + offset, size) == 0);
        REQUIRE(memory[begin + size] == std::byte{0x5A});
        // 36 KB before the file's end.
        const std::uint64_t near_end = offset % k_page_bytes + 40 * k_page_bytes;
        const std::size_t left = std::min<std::size_t>(size, expected.size() - near_end);
        REQUIRE(file.read_some(near_end, out) == left);
        REQUIRE(std::memcmp(out.data(), expected.data() + near_end, left) == 0);
        if (left < size) CHECK_THROWS_AS(file.read_exact(near_end, out), Error);
      }
    }
  }
}

TEST_CASE("A detour is half a page away from both ends of a copy") {
  Detour detour;
  for (std::uint64_t end = 0; end < 2 * k_page_bytes; ++end) {
    const MutableBytes room = detour.beside(end);
    REQUIRE(room.size() == Detour::k_bytes);
    REQUIRE_FALSE(copies_slowly(end, room.data(), room.size()));
    REQUIRE((reinterpret_cast<std::uintptr_t>(room.data()) - end) % k_page_bytes == k_page_bytes / 2);
  }
}

TEST_CASE("What begins at a multiple of 64 in its file is never copied slowly into a Scratch") {
  Scratch scratch;
  for (const std::size_t size : {1, 4096, 100'000, 200'001, 5'000'000, 70'000}) {
    const MutableBytes bytes = scratch.bytes(size);
    REQUIRE(bytes.size() == size);
    REQUIRE(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 == 0);
    std::fill(bytes.begin(), bytes.end(), std::byte{0x5A});  // all of it can be written
    for (const std::uint64_t offset : {0, 64, 512, 1536, 4032}) {
      REQUIRE_FALSE(copies_slowly(offset, bytes.data(), size));
    }
  }
  std::vector<std::byte> memory(1001);
  Scratch lent(MutableBytes(memory).subspan(1));
  CHECK(lent.bytes(1000).data() == memory.data() + 1);
}

TEST_CASE_METHOD(test::InTempDir, "Reads around the page cache give the file's bytes at any place") {
  const std::string path = dir / "file";
  const auto expected = write_random(path, 3'000'123);
  const auto file = DirectFile::open(path);
  if (!file) {
    WARN("no reads around the page cache on this file system");
    return;
  }
  KeyedRandom random{4};
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t offset = random.below(expected.size());
    const std::uint64_t length = random.below(std::min<std::uint64_t>(expected.size() - offset, 2'500'000)) + 1;
    std::vector<std::byte> got(length);
    file->read_exact(offset, got);
    REQUIRE(std::memcmp(got.data(), expected.data() + offset, length) == 0);
  }
  std::vector<std::byte> last(123);
  file->read_exact(expected.size() - 123, last);
  CHECK(std::memcmp(last.data(), expected.data() + expected.size() - 123, 123) == 0);
  std::vector<std::byte> beyond(200);
  for (const std::uint64_t offset : {expected.size() - 199, expected.size(), expected.size() + 10'000}) {
    CHECK_THROWS_AS(file->read_exact(offset, beyond), Error);
  }
}

TEST_CASE_METHOD(test::InTempDir, "Ranges of a sample are fetched around the page cache, and found again") {
  const std::string path = dir / "file";
  const auto expected = write_random(path, 5'000'123);
  const auto file = DirectFile::open(path);
  if (!file) {
    WARN("no reads around the page cache on this file system");
    return;
  }
  DirectFetch fetched;
  const auto is_found = [&](const FileRange& range) {
    const Bytes bytes = fetched.find(range);
    return bytes.size() == range.length && std::memcmp(bytes.data(), expected.data() + range.offset, range.length) == 0;
  };
  // Out of order, neighbors, a tiny one next to another and one alone, the file's end, more than the first memory
  // holds.
  const std::vector<FileRange> ranges = {
      {4'999'000, 1'123}, {10'000, 700}, {1'000, 5'000}, {6'100, 3}, {100'000, 2'500'000}};
  const FileRange tiny{4'000'000, 3};
  for (int round = 0; round < 2; ++round) {
    for (const FileRange& range : ranges) fetched.want(range);
    fetched.want(tiny);
    fetched.fetch(*file);
    for (const FileRange& range : ranges) CHECK(is_found(range));
    CHECK(fetched.find(tiny).empty());
    CHECK(fetched.find({4'998'999, 2}).empty());
    CHECK(fetched.find({4'999'000, 1'124}).empty());
  }
  fetched.want({50'000, 1'000});
  fetched.fetch(*file);
  CHECK(is_found({50'000, 1'000}));
  CHECK(fetched.find(ranges[0]).empty());
  fetched.want({50'000, 1'000});
  fetched.want({4'999'000, 2'000});
  CHECK_THROWS_AS(fetched.fetch(*file), Error);
  CHECK(fetched.find({50'000, 1'000}).empty());
  fetched.want({70'000, 1'000});
  fetched.fetch(*file);
  CHECK(is_found({70'000, 1'000}));
}

TEST_CASE_METHOD(
    test::InTempDir,
    "Large reads bring what was asked for into the page cache, and nothing of a file cut short is touched") {
  const std::string path = dir / "file";
  write_random(path, 11'000'000);
  const File file = File::open_read(path);
  ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  TwoMibReads reads(path);
  const std::uint64_t begin = 4'500'000;
  const std::uint64_t length = 5'000'000;
  if (reads.read(begin, length)) {
    // Reading waits for pages that are still on their way, so that the look below finds them.
    std::vector<std::byte> bytes(length);
    file.read_exact(begin, bytes);
    void* const map = ::mmap(nullptr, 11'000'000, PROT_READ, MAP_SHARED, file.fd(), 0);
    REQUIRE(map != MAP_FAILED);
    std::vector<unsigned char> resident(11'000'000 / 4096 + 1);
    REQUIRE(::mincore(map, 11'000'000, resident.data()) == 0);
    ::munmap(map, 11'000'000);
    for (std::uint64_t page = begin / 4096; page <= (begin + length - 1) / 4096; ++page) {
      REQUIRE((resident[page] & 1) == 1);
    }
  }
  CHECK_FALSE(reads.read(20'000'000, 10));
  REQUIRE(::truncate(path.c_str(), 1000) == 0);
  reads.read(begin, length);  // no SIGBUS, whatever it answers
}
