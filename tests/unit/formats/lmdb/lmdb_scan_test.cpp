// Files that other programs write: recognized by keys and values, without liblmdb.
#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/unit/formats/lmdb/lmdb_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

const std::string k_jpeg = "\xFF\xD8\xFF\xE0 and so on";
const std::string k_png = "\x89PNG\r\n\x1A\n and so on";

/// A protobuf varint or length field, written by the encoding guide.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out + static_cast<char>(value);
}

std::string datum(const std::string& data, std::uint64_t label, bool encoded) {
  std::string out =
      "\x08" + varint(3) + "\x10" + varint(20) + "\x18" + varint(300) + "\x22" + varint(data.size()) + data;
  out += "\x28" + varint(label);
  if (encoded) out += "\x38" + varint(1);
  return out;
}

/// Walks `path` and compares keys, values and offsets with liblmdb's cursor.
void check_walk(const std::string& path) {
  const lmdb::BTree tree(path);
  const std::vector<std::byte> bytes = read_file(path);
  std::vector<std::pair<std::string, std::string>> found;
  tree.walk(lmdb::Heads::read, [&](const lmdb::TreeEntry& entry) {
    const Bytes value = Bytes(bytes).subspan(entry.offset, entry.length);
    const Bytes head = value.first(std::min(value.size(), entry.head.size()));
    REQUIRE(as_text(head) == as_text(entry.head));
    found.emplace_back(entry.key, as_text(value));
  });
  std::vector<std::pair<std::string, std::string>> expected;
  read_lmdb(path, [&](const std::string& key, const MDB_val& value) { expected.emplace_back(key, lmdb_text(value)); });
  REQUIRE(expected.size() == tree.num_entries());
  CHECK(found == expected);
}

}  // namespace

TEST_CASE_METHOD(InLmdbPath, "the tree walk agrees with liblmdb") {
  SECTION("an empty database") { write_lmdb(path, {}); }
  SECTION("long keys make branch pages of depth 4 and more") {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (int i = 0; i < 4000; ++i)
      pairs.emplace_back(fmt::format("{:0>490}", (i * 7919) % 4000), fmt::format("v{}", i));
    write_lmdb(path, pairs);
    LmdbFile file(path, MDB_RDONLY);
    MDB_stat stat{};
    lmdb_must(mdb_env_stat(file.env(), &stat));
    REQUIRE(stat.ms_depth >= 4);
  }
  SECTION("values of every size around the page, and one of 3 MiB") {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (std::size_t i = 0; i < 300; ++i) {
      pairs.emplace_back(fmt::format("k{:04}", i), std::string(i * 31, static_cast<char>('a' + i % 26)));
    }
    pairs.emplace_back("big", std::string(3 << 20, 'b'));
    write_lmdb(path, pairs);
  }
  SECTION("updates and deletions leave free pages and half-empty leaves") {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (int i = 0; i < 2000; ++i)
      pairs.emplace_back(fmt::format("{}", i), std::string(static_cast<std::size_t>(i) * 3, 'x'));
    write_lmdb(path, pairs);
    LmdbFile file(path, 0);
    for (int round = 0; round < 5; ++round) {
      file.transact(false, [&](MDB_txn* transaction) {
        MDB_dbi database = 0;
        lmdb_must(mdb_dbi_open(transaction, nullptr, 0, &database));
        for (int i = round; i < 2000; i += 7) {
          const std::string key_text = fmt::format("{}", i);
          const std::string value_text =
              fmt::format("{} of round {}", i, round) + std::string(static_cast<std::size_t>(2000 - i), 'y');
          MDB_val key = lmdb_value(key_text);
          MDB_val value = lmdb_value(value_text);
          if (i % 2 == 0) {
            mdb_del(transaction, database, &key, nullptr);
          } else {
            lmdb_must(mdb_put(transaction, database, &key, &value, 0));
          }
        }
      });
    }
  }
  check_walk(path);
}

TEST_CASE_METHOD(InLmdbPath, "numbered values, padded or not, are samples in the order of their numbers") {
  write_lmdb(path,
             {{"0", k_jpeg}, {"2", k_png}, {"10", "neither"}, {"2.cls", " 7\n"}, {"10.JSON", "{}"}, {"__len__", "3"}});
  const ShardIndex index = scan_lmdb(path);
  REQUIRE(index.size() == 3);
  CHECK(index.key(1) == "2");
  CHECK(index.key(2) == "10");
  CHECK(index.label(1) == 7);
  CHECK(read_field(path, index, 0, "jpg") == k_jpeg);
  CHECK(read_field(path, index, 1, "png") == k_png);
  CHECK(read_field(path, index, 2, "bin") == "neither");
  CHECK(read_field(path, index, 2, "json") == "{}");

  const std::string padded = dir / "b.lmdb";
  write_lmdb(padded, {{"00000000", k_jpeg}, {"00000001", k_jpeg}});
  CHECK(scan_lmdb(padded).key(1) == "00000001");
}

TEST_CASE_METHOD(InLmdbPath, "Caffe's Datum: encoded images lie inside the value, raw ones are the whole value") {
  const std::string image = k_jpeg + std::string(10000, 'i');
  const std::string raw = datum(std::string(18000, '\x01'), 9, false);
  write_lmdb(path, {{"00000000_n1/a.JPEG", datum(image, 5, true)},
                    {"00000001_n1/b.JPEG", datum(k_png, ~std::uint64_t{0}, true)},
                    {"00000002_n1/c.JPEG", raw}});
  const ShardIndex index = scan_lmdb(path);
  REQUIRE(index.size() == 3);
  CHECK(index.key(0) == "00000000_n1/a.JPEG");
  CHECK(index.label(0) == 5);
  CHECK(index.label(1) == -1);
  CHECK(index.label(2) == 9);
  CHECK(read_field(path, index, 0, "jpg") == image);
  CHECK(read_field(path, index, 1, "png") == k_png);
  CHECK(read_field(path, index, 2, "datum") == raw);
  CHECK(index.width(2) == 300);
  CHECK(index.height(2) == 20);
}

TEST_CASE_METHOD(InLmdbPath, "a message that only opens like a Datum is plain bytes") {
  const std::string whole = datum(k_jpeg, 5, true);
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t size = 1; size < whole.size() - 4; ++size)
    pairs.emplace_back(fmt::format("{:08}", size), whole.substr(0, size));
  pairs.emplace_back("00009999", "\x22\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  write_lmdb(path, pairs);
  const ShardIndex index = scan_lmdb(path);
  REQUIRE(index.size() == pairs.size());
  CHECK_FALSE(index.field_id("jpg"));
}

TEST_CASE_METHOD(InLmdbPath, "image and label pairs of text recognition sets") {
  write_lmdb(path, {{"image-000000001", k_jpeg},
                    {"image-000000002", k_png},
                    {"label-000000001", "word"},
                    {"label-000000002", "two words"},
                    {"num-samples", "2"}});
  const ShardIndex index = scan_lmdb(path);
  REQUIRE(index.size() == 2);
  CHECK(index.key(0) == "000000001");
  CHECK(read_field(path, index, 0, "jpg") == k_jpeg);
  CHECK(read_field(path, index, 0, "txt") == "word");
  CHECK(read_field(path, index, 1, "png") == k_png);
  CHECK(read_field(path, index, 1, "txt") == "two words");
}

TEST_CASE_METHOD(InLmdbPath, "any other keys name their samples") {
  write_lmdb(path, {{"baboon", k_png}, {"12", k_png}, {std::string("\xFF\0key", 5), k_jpeg}});
  const ShardIndex index = scan_lmdb(path);
  REQUIRE(index.size() == 3);
  CHECK(index.key(0) == "12");
  CHECK(index.key(2) == std::string_view("\xFF\0key", 5));
  CHECK(read_field(path, index, 1, "png") == k_png);
}

TEST_CASE_METHOD(InLmdbPath, "what bale cannot read is refused in one clear line") {
  const auto message = [&] { return message_of(ErrorCode::unsupported, [&] { scan_lmdb(path); }); };
  SECTION("pickles") {
    write_lmdb(path, {{"00000000", "\x80\x04\x95 and so on."}});
    CHECK_THAT(message(), ContainsSubstring("pickles"));
  }
  SECTION("a pickled list of keys next to values of unknown kind") {
    write_lmdb(path, {{"0", "serialized"}, {"__keys__", "\x80\x03]."}});
    CHECK_THAT(message(), ContainsSubstring("objects that Python serialized"));
  }
  SECTION("named databases") {
    LmdbFile file(path, 0);
    file.transact(false, [&](MDB_txn* transaction) {
      MDB_dbi database = 0;
      lmdb_must(mdb_dbi_open(transaction, "images", MDB_CREATE, &database));
    });
    CHECK_THAT(message(), ContainsSubstring("named databases"));
  }
  SECTION("duplicate values") {
    LmdbFile file(path, 0);
    file.transact(false, [&](MDB_txn* transaction) {
      MDB_dbi database = 0;
      lmdb_must(mdb_dbi_open(transaction, nullptr, MDB_DUPSORT, &database));
      MDB_val key = lmdb_value("k");
      MDB_val value = lmdb_value("v");
      lmdb_must(mdb_put(transaction, database, &key, &value, 0));
    });
    CHECK_THAT(message(), ContainsSubstring("DUPSORT"));
  }
}
