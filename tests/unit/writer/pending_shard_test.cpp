// SampleLog: samples in memory and on disk, and what a later run takes up of them.
#include <filesystem>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/writer/stream/sample_log.hpp"

using namespace bale;
using bale::test::error_of;
using bale::test::InTempDir;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t k_first = 70;

void add(SampleLog& pending, std::uint64_t i) {
  const std::string content(i * 7 % 50, static_cast<char>('a' + i % 26));
  const FieldView fields[] = {{"jpg", as_bytes(content)}, {i % 2 == 0 ? "json" : "txt", as_bytes("{}")}};
  pending.add("key" + std::to_string(i), static_cast<std::int64_t>(i), fields);
}

void check(const SampleLog& pending, std::uint64_t size) {
  REQUIRE(pending.size() == size);
  Scratch scratch;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::string content(i * 7 % 50, static_cast<char>('a' + i % 26));
    CHECK(pending.key(i) == "key" + std::to_string(i));
    CHECK(pending.label(i) == static_cast<std::int64_t>(i));
    CHECK(as_text(pending.read(i, scratch)) == content + "{}");
    REQUIRE(pending.fields(i).size() == 2);
    CHECK(pending.names()[pending.fields(i)[1].name] == (i % 2 == 0 ? "json" : "txt"));
  }
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "samples wait in memory and on disk") {
  SampleLog pending(3, k_first, dir / "pending");
  for (std::uint64_t i = 0; i < 60; ++i) {
    if (i == 20 || i == 21 || i == 50) pending.spill();
    add(pending, i);
  }
  check(pending, 60);
  pending.sync();
  CHECK(pending.memory_bytes() == 0);
  check(pending, 60);

  SampleLog later(3, k_first, dir / "pending");
  REQUIRE(later.recover());
  check(later, 60);
  add(later, 60);
  check(later, 61);
  later.remove();
  CHECK_FALSE(fs::exists(dir / "pending"));
  CHECK_FALSE(SampleLog(3, k_first, dir / "pending").recover());
}

TEST_CASE_METHOD(InTempDir, "of a file that ends anywhere or is damaged, the samples before are taken up") {
  {
    SampleLog pending(3, k_first, dir / "whole");
    for (std::uint64_t i = 0; i < 8; ++i) add(pending, i);
    pending.sync();
  }
  const std::string whole = test::slurp(dir / "whole");
  std::uint64_t most = 0;
  for (std::size_t end = 0; end <= whole.size(); ++end) {
    test::spit(dir / "part", whole.substr(0, end));
    SampleLog pending(3, k_first, dir / "part");
    if (!pending.recover()) continue;
    REQUIRE(pending.size() >= most);
    most = pending.size();
    add(pending, most);
    check(pending, most + 1);
  }
  CHECK(most == 8);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    test::spit(dir / "part", flipped);
    SampleLog pending(3, k_first, dir / "part");
    if (!pending.recover()) continue;
    CHECK(pending.size() < 8);
    check(pending, pending.size());
  }
  CHECK_FALSE(SampleLog(4, k_first, dir / "whole").recover());
  CHECK_FALSE(SampleLog(3, k_first + 1, dir / "whole").recover());
}

TEST_CASE_METHOD(InTempDir, "a sample that changed on the disk is not handed on") {
  SampleLog pending(3, k_first, dir / "pending");
  add(pending, 5);
  pending.spill();
  std::string bytes = test::slurp(dir / "pending");
  bytes[bytes.size() - 10] ^= 1;
  File::open_update(dir / "pending").write_at(0, as_bytes(bytes));
  Scratch scratch;
  CHECK(error_of([&] { pending.read(0, scratch); }).code() == ErrorCode::damaged);
}
