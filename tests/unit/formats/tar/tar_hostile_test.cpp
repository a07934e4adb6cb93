// Tar headers that mean harm, or were harmed: an Error with a reason, or what is there; never a crash.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/tier.hpp"
#include "bale/tests/unit/formats/tar/tar_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

void seal(std::string& block) {
  std::fill_n(block.begin() + 148, 8, ' ');
  unsigned sum = 0;
  for (const char c : block.substr(0, 512)) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  block.replace(148, 7, std::string(text, 7));
}

/// A sealed ustar header; `size_field` is 12 bytes as they are to stand there.
std::string header(const std::string& name, const std::string& size_field, char type = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(124, size_field.size(), size_field);
  block[156] = type;
  block.replace(257, 8,
                std::string("ustar\0"
                            "00",
                            8));
  seal(block);
  return block;
}

std::string octal(std::size_t size) {
  char text[12];
  std::snprintf(text, sizeof text, "%011zo", size);
  return {text, 12};
}

std::string pad(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512, '\0');
  return bytes;
}

std::string member(const std::string& name, const std::string& bytes, char type = '0') {
  return header(name, octal(bytes.size()), type) + pad(bytes);
}

std::string record(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

std::string pax(const std::string& records) { return member("pax", records, 'x'); }

const std::string k_end(1024, '\0');

/// Message of the Error that a scan comes to; "" where there is none.
std::string error_of_scan(const std::string& path) {
  const auto error = thrown_by([&] { scan_shard(path, k_tar_format); });
  if (!error) return "";
  CHECK((error->code() == ErrorCode::damaged || error->code() == ErrorCode::unsupported));
  CHECK(error->context().path == path);
  return error->message();
}

std::string scan_error(const TempDir& dir, const std::string& bytes) {
  spit(dir / "x.tar", bytes);
  return error_of_scan(dir / "x.tar");
}

/// Whether `verify` would find fault with what the scan read.
bool has_flaw(const std::string& path) {
  const ShardIndex index = scan_shard(path, k_tar_format);
  const auto& warnings = index.notices().warnings();
  return std::any_of(warnings.begin(), warnings.end(),
                     [](const Warning& warning) { return warning.kind == WarningKind::defect; });
}

std::string base256(std::initializer_list<int> tail, int first = 0x80) {
  std::string text(12, '\0');
  text[0] = static_cast<char>(first);
  std::size_t at = 12 - tail.size();
  for (const int byte : tail) text[at++] = static_cast<char>(byte);
  return text;
}

struct HostileTar {
  std::string bytes;
  std::string reason;  // part of the message
};

void check_refused(const std::vector<HostileTar>& rows) {
  const TempDir dir;
  for (const HostileTar& row : rows) {
    INFO("row " << (&row - rows.data()));
    const std::string message = scan_error(dir, row.bytes);
    CHECK_THAT(message, ContainsSubstring(row.reason));
  }
}

}  // namespace

TEST_CASE("hostile headers are refused with the reason") {
  const std::string good = member("a.jpg", "bytes");
  std::string flipped = good;
  flipped[0] = 'b';
  check_refused({
      {"", "empty file"},
      {"x", "ends inside a block"},
      {flipped + k_end, "checksum"},
      {good + std::string(512, 'x') + k_end, "checksum"},
      {header("a.jpg", "-0000000005") + k_end, "negative"},
      {header("a.jpg", base256({}, 0xff)) + k_end, "negative"},
      {header("a.jpg", base256({}, 0xc0)) + k_end, "negative"},
      {header("a.jpg", base256({0x10, 0, 0, 0, 0, 0, 0, 0})) + k_end, "ends 1024 bytes after"},
      {header("a.jpg", base256({0x7f, 255, 255, 255, 255, 255, 255, 255})) + k_end, "ends 1024 bytes after"},
      {header("a.jpg", base256({0x80, 0, 0, 0, 0, 0, 0, 0})) + k_end, "2^63"},
      {header("a.jpg", base256({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) + k_end, "2^63"},
      {header("a.jpg", std::string(12, '7')) + k_end, "ends 1024 bytes after"},
      {header("a.jpg", "12x45678901") + k_end, "octal"},
      {header("a.jpg", octal(1025)) + k_end, "ends 1024 bytes after"},
      {"PK\x03\x04" + std::string(2000, 'z'), "zip archive"},
      {"070701" + std::string(2000, 'z'), "cpio archive"},
      {std::string(4096, 'z'), "checksum"},
  });
}

TEST_CASE("hostile extended headers and long names are refused with the reason") {
  const std::string good = member("a.jpg", "bytes");
  check_refused({
      {pax(record("size", "-5")) + good + k_end, "negative"},
      {pax(record("size", "5x")) + good + k_end, "decimal"},
      {pax(record("size", "1152921504606846976")) + good + k_end, "archive ends"},
      {pax(record("size", "99999999999999999999")) + good + k_end, "2^63"},
      {pax(record("path", std::string("b\0.jpg", 6))) + good + k_end, "NUL"},
      {pax("5 a=b\n") + good + k_end, "at its stated length"},
      {pax("99 a=b\n") + good + k_end, "longer than its header"},
      {pax("6 abc\n") + good + k_end, "without a value"},
      {pax("0 a=b\n") + good + k_end, "longer than its header"},
      {pax("99999999999999999999999 a=b\n") + good + k_end, "without a length"},
      {pax("x a=b\n") + good + k_end, "without a length"},
      {pax("nothing") + good + k_end, "without a length"},
      {pax(record("path", "b.jpg")) + pax(record("path", "c.jpg")) + good + k_end, "two extended headers"},
      {pax(record("path", "b.jpg")) + k_end, "after an extended header"},
      {pax(record("path", "b.jpg")), "after an extended header"},
      {header("pax", octal((1 << 20) + 1), 'x') + std::string(2 << 20, '\0'), "extended header of"},
      {header("pax", base256({0x10, 0, 0, 0, 0, 0, 0, 0}), 'x') + k_end, "extended header of"},
      {member("l", std::string(600000, 'n'), 'L') + pax(record("comment", std::string(600000, 'c'))) + good,
       "extended header of"},
      {member("l", "b.jpg", 'L') + member("l", "c.jpg", 'L') + good + k_end, "two long names"},
      {member("l", "b.jpg", 'L') + pax(record("path", "c.jpg")) + good + k_end, "two long names"},
      {member("l", std::string("b\0c.jpg", 7), 'L') + good + k_end, "NUL"},
      {member("l", "", 'L') + good + k_end, "empty long name"},
      {member("l", "b.jpg", 'L') + k_end, "after an extended header"},
      {member("k", "b", 'K') + member("k", "b", 'K') + good + k_end, "two long link names"},
      {pax(record("path", "b.jpg")) + member("g", record("comment", "x"), 'g') + good + k_end, "global header"},
  });
}

TEST_CASE_METHOD(InTempDir, "unusual headers that mean no harm are read") {
  const std::string path = dir / "x.tar";
  const auto read = [&](const std::string& bytes) {
    spit(path, bytes);
    return read_samples(path);
  };
  const std::vector<OwnedSample> a{{"a", {{"jpg", "bytes"}}}};
  const std::string good = member("a.jpg", "bytes");
  CHECK(read(good + std::string(512, '\0')) == a);                         // one zero block at the end
  CHECK(read(good + k_end + "trailing") == a);                             // what follows the end is nobody's
  CHECK(read(good) == a);                                                  // no end marker
  CHECK(read(good + std::string(512, '\0') + member("b.jpg", "x")) == a);  // all readers stop at a lone zero block
  CHECK(read(pax(record("size", "5")) + header("a.jpg", octal(6)) + pad("bytes") + k_end) == a);
  CHECK(read(header("a.jpg", base256({5})) + pad("bytes") + k_end) == a);
  CHECK(read(header("a.jpg", "         5 ") + pad("bytes") + k_end) == a);
  CHECK(read(member("a.jpg", "bytes", '\0') + k_end) == a);
  CHECK(read(member("a.jpg", "bytes", '7') + k_end) == a);
  CHECK(read(member("volume", "unknown type", 'V') + good + k_end) == a);
  CHECK(read(pax(record("path", "a.jpg") + record("size", "5")) + member("other.txt", "bytes") + k_end) == a);
  CHECK(read(pax(record("path", "b.jpg") + record("path", "")) + good + k_end) == a);
  CHECK(read(member("g", record("comment", "global"), 'g') + good + k_end) == a);
  CHECK(read(member("l", std::string("a.jpg\0", 6), 'L') + member("other.txt", "bytes") + k_end) == a);
  CHECK(read(member("dir.jpg/", "", '\0') + good + k_end) == a);
  std::string signed_sum = header("\xff\xff.jpg", octal(5));
  int sum = 0;
  std::fill_n(signed_sum.begin() + 148, 8, ' ');
  for (const char c : signed_sum) sum += c;
  char text[8];
  std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum));
  signed_sum.replace(148, 7, std::string(text, 7));
  CHECK(read(signed_sum + pad("bytes") + k_end) == std::vector<OwnedSample>{{"\xff\xff", {{"jpg", "bytes"}}}});
}

TEST_CASE_METHOD(
    InTempDir,
    "an archive cut before its end marker is refused, or read with a flaw if it is cut between two members") {
  const std::string path = dir / "x.tar";
  const std::vector<OwnedSample> samples{{"a", {{"cls", "1"}, {"jpg", random_bytes(700, 1)}}},
                                         {std::string(300, 'l'), {{"jpg", random_bytes(512, 2)}}},
                                         {"z", {{"jpg", ""}}}};
  pack_samples(path, "plain", samples);
  const std::string good = slurp(path);
  const std::size_t data_end = good.find_last_not_of('\0') / 512 * 512 + 512;
  for (std::size_t edge = 0; edge <= good.size(); edge += 512) {
    for (const int off : {-1, 0, 1}) {
      if ((edge == 0 && off < 0) || (edge == good.size() && off >= 0)) continue;
      const std::string cut = good.substr(0, edge + static_cast<std::size_t>(off));
      INFO("cut to " << cut.size());
      const std::string message = scan_error(dir, cut);
      // The first zero block alone, at the end of the file, is an end marker; so is everything from the second on.
      const bool has_marker = cut.size() == data_end + 512 || cut.size() >= data_end + 1024;
      if (has_marker) CHECK(message.empty());
      if (!message.empty()) continue;
      const ShardIndex index = scan_shard(path, k_tar_format);
      const auto& warnings = index.notices().warnings();
      CHECK(warnings.size() == (has_marker ? 0 : 1));
      for (const Warning& warning : warnings) CHECK(warning.kind == WarningKind::defect);
      if (cut.size() >= data_end) CHECK(read_samples(path) == samples);
    }
  }
}

TEST_CASE_METHOD(InTempDir, "no flipped bit of a header goes unseen") {
  const std::string path = dir / "x.tar";
  const std::vector<OwnedSample> samples{{"a", {{"cls", "1"}, {"jpg", "abc"}}},
                                         {std::string(120, 'l'), {{"jpg", "def"}}}};
  pack_samples(path, "plain", samples);
  const std::string good = slurp(path);
  std::size_t refused = 0;
  File file = File::open_update(path);
  const std::size_t end = good.find_last_not_of('\0') / 512 * 512 + 3 * 512;  // with both zero blocks
  const auto step = by_tier<std::size_t>(1, 1, 7);
  for (std::size_t bit = 0; bit < end * 8; bit += step) {
    const char flipped = static_cast<char>(good[bit / 8] ^ (1 << (bit % 8)));
    file.write_at(bit / 8, as_bytes({&flipped, 1}));
    const bool is_refused = !error_of_scan(path).empty() || has_flaw(path);
    const auto found = is_refused ? std::vector<OwnedSample>{} : read_samples(path);
    file.write_at(bit / 8, as_bytes({&good[bit / 8], 1}));
    if (is_refused) {
      ++refused;
      continue;
    }
    if (bit / 8 / 512 == 5) continue;  // the text of a pax header has no checksum in the archive itself
    // Payloads are for checksums to judge; names, order and sizes must be as they were.
    REQUIRE(found.size() == samples.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].key == samples[i].key);
      REQUIRE(found[i].fields.size() == samples[i].fields.size());
      for (std::size_t f = 0; f < found[i].fields.size(); ++f) {
        CHECK(found[i].fields[f].bytes.size() == samples[i].fields[f].bytes.size());
      }
    }
  }
  // Every bit of five headers but for the checksums' own padding.
  CHECK(refused > std::size_t{5 * 512 - 5 * 8} * 8 / step);
}
