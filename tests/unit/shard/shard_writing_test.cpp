// What the formats' writers share: names of files, gathered writes, rules for every sample.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/writing/gather.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;
using namespace bale::test;

namespace {

constexpr Layout k_numbered{.name = "numbered", .suffix = ".box"};
constexpr Layout k_counted{.name = "counted", .suffix = "", .counted = true};
constexpr Layout k_counted_box{.name = "counted-box", .suffix = ".box", .counted = true};

}  // namespace

TEST_CASE("shards are named by number, or by number and count") {
  CHECK(shard_file_name(k_numbered, "train", 3, 12) == "train-000003.box");
  CHECK(shard_file_name(k_counted, "train", 3, 12) == "train-00003-of-00012");
  CHECK(shard_file_name(k_counted_box, "train", 123456, 200000) == "train-123456-of-200000.box");
  for (const Layout& layout : {k_numbered, k_counted, k_counted_box}) {
    CHECK(has_shard_name(layout, shard_file_name(layout, "a-b", 7, 8)));
    CHECK_FALSE(has_shard_name(layout, shard_file_name(layout, "a-b", 7, 8) + ".bidx"));
  }
  CHECK(has_shard_name(k_numbered, "anything.box"));
  CHECK_FALSE(has_shard_name(k_numbered, ".box"));
  CHECK(has_shard_name(k_counted, "x.tfrecord-00000-of-00002"));
  for (const char* name :
       {"", "train", "00003-of-00012", "-00003-of-00012", "train-0003-of-00012", "train-00003-of-0012",
        "train-00003-of-00012x", "train-x0003-of-00012", "train00003-of-00012"}) {
    CHECK_FALSE(has_shard_name(k_counted, name));
  }
}

TEST_CASE("a sidecar's suffix takes the place of the shard's") {
  const Sidecar sidecar{.suffix = ".idx", .text = nullptr};
  CHECK(sidecar_path("d/train-000003.box", k_numbered, sidecar) == "d/train-000003.idx");
  CHECK(sidecar_path("d/train-00003-of-00012", k_counted, sidecar) == "d/train-00003-of-00012.idx");
}

TEST_CASE("gathered bytes come out in order, whatever is copied and what borrowed") {
  Gather gather;
  for (int round = 0; round < 2; ++round) {
    gather.clear();
    std::string expected;
    const std::string large(Gather::k_copied_bytes + 1, 'l');
    const std::vector<std::string> pieces{"small", large, large, "", "tail"};
    for (const std::string& piece : pieces) {
      gather.add(as_bytes(piece));
      expected += piece;
    }
    gather.add_zeros(3);
    expected.append(3, '\0');
    gather.add_by([](std::vector<std::byte>& out) { out.push_back(std::byte{'x'}); });
    expected += 'x';
    CHECK(gather.size() == expected.size());
    std::string found;
    for (const Bytes part : gather.parts()) found += as_text(part);
    CHECK(found == expected);
    gather.add(as_bytes("more"));
    found.clear();
    for (const Bytes part : gather.parts()) found += as_text(part);
    CHECK(found == expected + "more");
  }
}

TEST_CASE_METHOD(InTempDir, "an appended file is what was appended") {
  AppendFile file(dir / "x");
  const std::string text = "abc";
  const Bytes parts[] = {as_bytes(text), as_bytes(text)};
  file.append(parts);
  CHECK(file.size() == 6);
  file.append(parts);
  file.close();
  const std::vector<std::byte> bytes = read_file(dir / "x");
  CHECK(as_text(bytes) == "abcabcabcabc");
}

TEST_CASE("samples that no container takes are refused") {
  const std::byte byte{};
  const auto refusal = [](std::span<const FieldView> fields) {
    return test::message_of(ErrorCode::invalid_argument,
                            [&] { check_fields({.key = "k", .fields = fields}, {}, "shard"); });
  };
  CHECK_THAT(refusal({}), ContainsSubstring("without fields"));
  const FieldView twice[] = {{"a", {}}, {"b", {}}, {"a", {}}};
  CHECK_THAT(refusal(twice), ContainsSubstring("repeated field \"a\"") && ContainsSubstring("shard"));
  const FieldView large[] = {{"a", Bytes(&byte, std::size_t{1} << 32)}};
  CHECK_THAT(refusal(large), ContainsSubstring("4 GiB"));
  const FieldView good[] = {{"a", {}}, {"b", {}}};
  CHECK(refusal(good).empty());
}

TEST_CASE("keys of other tools' samples are made unique") {
  CHECK(key_of_file("a/b.c.jpg") == "a/b%2Ec");
  CHECK(key_of_file("a/b") == "a/b");
  CHECK(key_of_file("a/.jpg") == "a/%2Ejpg");
  CHECK(key_of_file("a/").empty());
  CHECK(key_of_file("").empty());
  ForeignKeys keys;
  CHECK(keys.take("a", 0) == "a");
  CHECK(keys.take("", 1) == "00000001");
  CHECK(keys.take("a", 2) == "a-00000002");
  CHECK(keys.take("a-00000002", 3) == "a-00000002-00000003");
  CHECK(keys.take("00000001", 1) == "00000001-00000001");
}
