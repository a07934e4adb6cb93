// KeyTable: what was inserted is found, in memory and in a file.
#include "bale/writer/stream/key_table.hpp"
#include "bale/formats/base/checksum.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;
using bale::test::error_of;

TEST_CASE_METHOD(test::InTempDir, "a table of keys has what was inserted, in memory and in a file") {
  for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{0}}) {
    KeyTable table(dir / "", memory);
    CHECK_FALSE(table.may_have(0));
    table.insert(0);
    table.insert(0);
    CHECK(table.size() == 1);
    constexpr std::uint64_t k_keys = 100'000;  // 1 MiB and 2 MiB of slots
    for (std::uint64_t i = 1; i < k_keys; ++i) table.insert(hash_key(std::to_string(i)));
    CHECK(table.size() == k_keys);
    std::uint64_t found = 0;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 1; i < k_keys; ++i) {
      found += table.may_have(hash_key(std::to_string(i))) ? 1 : 0;
      wrong += table.may_have(hash_key("not " + std::to_string(i))) ? 1 : 0;
    }
    CHECK(found == k_keys - 1);
    CHECK(wrong == 0);
  }
}

TEST_CASE("a table of keys without room says so") {
  KeyTable table("/nowhere", 0);
  CHECK(error_of([&] { table.insert(1); }).code() == ErrorCode::io);
  CHECK_FALSE(table.may_have(1));
}
