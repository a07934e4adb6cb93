// The order Python sorts names in, and the text files that sources read: records, cells, class maps.
#include <algorithm>

#include "bale/tests/unit/writer/source/source_support.hpp"
#include "bale/writer/source/classes/class_map.hpp"
#include "bale/writer/source/files/directory_listing.hpp"
#include "bale/writer/source/tables/record_reader.hpp"

using namespace bale;
using namespace bale::test;
using Names = std::vector<std::string>;

namespace {

struct Record {
  std::string text;
  std::uint64_t offset;
  std::uint64_t line;
  bool operator==(const Record&) const = default;
};

std::vector<Record> records(const std::string& content, RecordKind kind) {
  const TempDir dir;
  write_file(dir / "t", content);
  RecordReader reader(dir / "t", kind);
  std::vector<Record> all;
  while (reader.next()) all.push_back({std::string(reader.record()), reader.offset(), reader.line()});
  return all;
}

Names cells(const std::string& record) {
  Names all;
  split_cells(record, ',', all);
  return all;
}

ClassMap class_map(const std::string& content) {
  const TempDir dir;
  write_file(dir / "map", content);
  return ClassMap::load(dir / "map");
}

}  // namespace

TEST_CASE("names sort as Python sorts what os.fsdecode makes of them") {
  // Made with: sorted(os.fsdecode(n) for n in names), Python 3.11.
  const Names sorted{"",
                     "A",
                     "B",
                     "a",
                     "a\x7F",
                     "a\x80",
                     "a\xFF",
                     "a\xEE\x80\x80",
                     "b",
                     "\xC3\xA9",
                     "\xED\x9F\xBF",
                     "\x80",
                     "\xC3",
                     "\xC3\x28",
                     "\xED\xA0\x80",
                     "\xFF",
                     "\xEE\x80\x80",
                     "\xEF\xBF\xBF",
                     "\xF0\x9F\x98\x80"};
  Names shuffled = sorted;
  std::reverse(shuffled.begin(), shuffled.end());
  std::sort(shuffled.begin(), shuffled.end(), python_less);
  CHECK(shuffled == sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) CHECK(python_less(sorted[i], sorted[j]) == (i < j));
  }
}

TEST_CASE("records are lines, NUL-separated names, or CSV records with line ends in quotes") {
  using Records = std::vector<Record>;
  CHECK(records("", RecordKind::lines).empty());
  CHECK(records("a\r\n\nb", RecordKind::lines) == Records{{"a", 0, 1}, {"", 3, 2}, {"b", 4, 3}});
  CHECK(records("\xEF\xBB\xBF"
                "a\n",
                RecordKind::lines) == Records{{"a", 3, 1}});
  CHECK(records(std::string("a\nb\0c\r\0", 7), RecordKind::nul_separated) == Records{{"a\nb", 0, 1}, {"c\r", 4, 2}});
  CHECK(records("a,\"b\nc\"\r\nd\"\n\"x\"\"\n\"\n", RecordKind::csv) ==
        Records{{"a,\"b\nc\"", 0, 1}, {"d\"", 9, 3}, {"\"x\"\"\n\"", 12, 4}});
  CHECK(error_of([] { records("a\n\"b\n", RecordKind::csv); }).code() == ErrorCode::damaged);
  // Longer than a block, so that records lie across its edge.
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "line " + std::to_string(i) + "\n";
  const auto lines = records(many, RecordKind::lines);
  REQUIRE(lines.size() == 100'000);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text != "line " + std::to_string(i) || many.substr(lines[i].offset, 5) != "line ") FAIL(i);
  }
  CHECK(error_of([] { records(std::string(17 << 20, 'x'), RecordKind::lines); }).code() == ErrorCode::damaged);
}

TEST_CASE("cells lose their quotes") {
  CHECK(cells("") == Names{""});
  CHECK(cells("a,b") == Names{"a", "b"});
  CHECK(cells(",") == Names{"", ""});
  CHECK(cells("\"a,b\",\"c\"\"d\"") == Names{"a,b", "c\"d"});
  CHECK(cells("\"a\nb\",") == Names{"a\nb", ""});
  CHECK(cells("a\"b\",c") == Names{"a\"b\"", "c"});
  CHECK(cells("\"a\"b,c") == Names{"ab", "c"});
}

TEST_CASE("class maps are read in every usual spelling") {
  for (const char* text : {"cat 1\ndog 0\n", "cat,1\r\ndog, 0\r\n", "cat\t1\n\ndog\t0", "dog\ncat\n",
                           "[\"dog\", \"cat\"]", "{\"cat\": 1, \"dog\": 0}", "{\"0\": \"dog\", \"1\": \"cat\"}",
                           "\xEF\xBB\xBF{\"0\": [\"dog\", \"hound\"], \"1\": [\"cat\", \"puss\"]}"}) {
    INFO(text);
    const ClassMap map = class_map(text);
    CHECK(map.classes() == Names{"dog", "cat"});
    CHECK(map.label("cat", "x") == 1);
  }
  CHECK(class_map("n01440764 tench, Tinca tinca\nn01443537 goldfish\n").classes() == Names{"n01440764", "n01443537"});
  CHECK(class_map("great white shark 2").classes() == Names{"", "", "great white shark"});
  CHECK(class_map("Grade 1\nGrade 2").classes() == Names{"Grade 1", "Grade 2"});
  CHECK(class_map("1 001.Albatross\n2 002.Laysan").classes() == Names{"", "001.Albatross", "002.Laysan"});
  CHECK(class_map("/m/011k07,Tortoise\n/m/0h2,Area 51").classes() == Names{"/m/011k07", "/m/0h2"});
  CHECK(class_map("name,index\ncat,1\ndog,0").classes() == Names{"dog", "cat"});
  CHECK(class_map("{\"classes\": [\"b\", \"\", \"a\"], \"name\": \"x\"}").classes() == Names{"b", "", "a"});
  CHECK(class_map("great white shark\nrays").classes() == Names{"great white shark", "rays"});
}

TEST_CASE("a class map that makes no sense is refused") {
  for (const char* text : {"", "cat -1", "cat 1\ncat 2\ndog 3", "cat 99999999999", "cat 10000001", "{\"cat\": \"dog\"}",
                           "{\"cat\": 1.5}", "[1]", "[", "{\"cat\": 1}x", "[[[]]]"}) {
    INFO(text);
    CHECK(error_of([&] { class_map(text); }).code() == ErrorCode::invalid_argument);
  }
  CHECK(error_of([&] { class_map(std::string(100'000, '[')); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([] { class_map("cat 0").label("dog", "/data/dog"); }).context().path == "/data/dog");
}
