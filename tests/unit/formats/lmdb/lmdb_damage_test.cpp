// Damaged files: the scan gives an error or a sane result, and never touches memory it does not own
// (run under AddressSanitizer to see the last part).
#include <cstring>
#include <random>

#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tests/unit/formats/lmdb/lmdb_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// Whether the scan gave an index; then every field it says lies in the file.
bool scans(const std::string& path, const std::vector<std::byte>& bytes) {
  spit(path, as_text(bytes));
  return !thrown_by([&] {
    const ShardIndex index = scan_lmdb(path);
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      for (std::uint32_t f = 0; f < index.fields().size(); ++f) {
        const Extent extent = index.extent(i, f);
        if (extent.present()) REQUIRE(extent.offset + extent.length <= bytes.size());
      }
    }
  });
}

std::vector<std::byte> small_file(const TempDir& dir) {
  const std::string path = dir / "good.lmdb";
  std::vector<OwnedSample> samples;
  for (int i = 0; i < 40; ++i) {
    samples.push_back(
        {fmt::format("n/{}", i), i, {{"jpg", std::string(i % 8 == 0 ? 5000 : 300, 'j')}, {"cls", std::to_string(i)}}});
  }
  pack_lmdb(path, samples);
  return read_file(path);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "every truncation is refused") {
  const std::vector<std::byte> good = small_file(dir);
  REQUIRE(scans(dir / "x.lmdb", good));
  const auto size = static_cast<std::ptrdiff_t>(good.size());
  for (std::ptrdiff_t cut = 0; cut < size; cut = cut < 300 || cut + 300 > size ? cut + 1 : cut + 251) {
    REQUIRE_FALSE(scans(dir / "x.lmdb", {good.begin(), good.begin() + cut}));
  }
}

TEST_CASE_METHOD(InTempDir, "bit flips in the structure never lead out of the file") {
  const std::vector<std::byte> good = small_file(dir);
  std::size_t refused = 0;
  // The headers of all pages, and the node tables after them, bit by bit.
  for (std::size_t page = 0; page < good.size(); page += 4096) {
    for (std::size_t bit = 0; bit < 160 * 8; bit += page == 0 ? 1 : 5) {
      std::vector<std::byte> bad = good;
      bad[page + bit / 8] ^= std::byte(1U << (bit % 8));
      if (!scans(dir / "x.lmdb", bad)) ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE_METHOD(InTempDir, "random damage never leads out of the file") {
  const std::vector<std::byte> good = small_file(dir);
  std::mt19937 random(20240607);
  std::size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bad = good;
    for (unsigned i = 0; i <= random() % 8; ++i) {
      // Half of it where page numbers, counts and offsets are.
      const std::size_t page = random() % (good.size() / 4096) * 4096;
      const std::size_t at = page + (random() % 2 == 0 ? random() % 64 : random() % 4096);
      bad[at] = std::byte(random() % 4 == 0 ? 0xFF : random() % 256);
    }
    if (!scans(dir / "x.lmdb", bad)) ++refused;
  }
  CHECK(refused > 0);
}

TEST_CASE_METHOD(InLmdbPath, "a page that is its own child is refused") {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (int i = 0; i < 1000; ++i) pairs.emplace_back(fmt::format("{:08}", i), std::string(100, 'v'));
  write_lmdb(path, pairs);
  std::vector<std::byte> bytes = read_file(path);
  for (std::size_t page = 2 * 4096; page < bytes.size(); page += 4096) {
    if (bytes[page + 10] != std::byte{1}) continue;  // a branch page
    std::uint16_t node = 0;
    std::memcpy(&node, &bytes[page + 16], sizeof node);
    const auto own = static_cast<std::uint32_t>(page / 4096);
    std::memcpy(&bytes[page + node], &own, sizeof own);
  }
  CHECK_FALSE(scans(dir / "x.lmdb", bytes));
}
