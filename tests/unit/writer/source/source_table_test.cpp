// Lists of paths and tables.
#include "bale/tests/unit/writer/source/source_support.hpp"

using namespace bale;
using namespace bale::test;
using Names = std::vector<std::string>;
using Labels = std::vector<std::int64_t>;

namespace {

/// Images a/1 and b/2 below data/, and a table or list next to them.
struct Fixture {
  TempDir dir;
  Fixture() {
    write_file(dir / "data/a/1.jpg", pixmap('1'));
    write_file(dir / "data/b/2.png", pixmap('2'));
  }
  std::string write(const std::string& name, const std::string& content) {
    write_file(dir / ("data/" + name), content);
    return dir / ("data/" + name);
  }
  SourceOptions rooted() const { return {.root = dir / "data"}; }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a list keeps its order and takes classes from directories") {
  const auto source = open_list_source(write("list", "./b//2.png\r\n\na/1.jpg\n"), rooted());
  CHECK(keys(*source) == Names{"b/2", "a/1"});
  CHECK(labels(*source) == Labels{1, 0});
  CHECK(source->classes() == Names{"a", "b"});
  CHECK(source->fields() == Names{"png", "jpg", "cls"});
  CHECK(field_text(*source, 1, "jpg") == pixmap('1'));
  const auto flat = open_list_source(write("list", "a/1.jpg\n"), {.root = dir / "data", .flat = true});
  CHECK(labels(*flat) == Labels{k_no_label});
}

TEST_CASE_METHOD(Fixture, "full paths below the root get relative keys, others their own") {
  const std::string full = dir / "data/a/1.jpg";
  CHECK(keys(*open_list_source(write("list", full + "\n"), rooted())) == Names{"a/1"});
  const auto source = open_list_source(write("list", full + "\n"), {});
  CHECK(keys(*source) == Names{full.substr(1, full.size() - 5)});
  CHECK(field_text(*source, 0, "jpg") == pixmap('1'));
  CHECK(source->classes() == Names{"a"});
}

TEST_CASE_METHOD(Fixture, "NUL-separated names may hold line ends") {
  write_file(dir / "data/c\n/x\n.jpg", pixmap('n'));
  const std::string list("c\n/x\n.jpg\0a/1.jpg\0", 19);
  const auto source = open_list_source(write("list", list), {.root = dir / "data", .nul_separated = true});
  CHECK(keys(*source) == Names{"c\n/x\n", "a/1"});
  CHECK(field_text(*source, 0, "jpg") == pixmap('n'));
}

TEST_CASE_METHOD(Fixture, "a listed file that is not there is a bad sample") {
  const auto source = open_list_source(write("list", "a/1.jpg\na/gone.jpg\n"), rooted());
  REQUIRE(source->size() == 2);
  Scratch scratch;
  const Error error = error_of([&] { source->read(1, scratch); });
  CHECK(error.code() == ErrorCode::not_found);
  CHECK(error.context().path == dir / "data/a/gone.jpg");
  CHECK(source->read(0, scratch).key == "a/1");
}

TEST_CASE_METHOD(Fixture, "what a list names is packed by its content, or is an error with its line") {
  write_file(dir / "data/a/photo", pixmap('p'));
  write_file(dir / "data/a/3.jpg ", pixmap('s'));
  write_file(dir / "data/a/notes.txt", "no image");
  const auto source = open_list_source(write("list", "a/photo\na/1.jpg  \n\tb/2.png\r\na/3.jpg \n"), rooted());
  CHECK(keys(*source) == Names{"a/photo", "a/1", "b/2", "a/3"});
  CHECK(source->fields() == Names{"ppm", "jpg", "png", "cls"});
  CHECK(field_text(*source, 3, "ppm") == pixmap('s'));
  CHECK(source->notices().empty());
  for (const char* const bad : {"a/notes.txt", "a/gone", "a"}) {
    const std::string list = write("list", std::string("a/1.jpg\n") + bad + "\n");
    const Error error = error_of([&] { open_list_source(list, rooted()); });
    CHECK(error.code() != ErrorCode::invalid_argument);
    CHECK_THAT(error.what(), ContainsSubstring(list + ": line 2: \"" + bad + "\""));
    SourceOptions options = rooted();
    options.skip_damaged = true;
    const auto rest = open_list_source(list, options);
    CHECK(rest->size() == 1);
    REQUIRE(rest->losses().size() == 1);
    CHECK_THAT(rest->losses()[0].why, ContainsSubstring("line 2"));
  }
  write("table.csv", "path,label\na/photo,1\na/notes.txt,2\n");
  CHECK_THAT(error_of([&] { open_table_source(dir / "data/table.csv", {}); }).what(), ContainsSubstring("line 3: "));
}

TEST_CASE_METHOD(Fixture, "lists that make no sense are refused, naming the line") {
  CHECK_THAT(error_of([&] { open_list_source(write("list", "a/1.jpg\na/../b/2.png\n"), rooted()); }).what(),
             ContainsSubstring("list: line 2: "));
  CHECK_THROWS_AS(open_list_source(write("list", "\n"), rooted()), Error);
  CHECK_THROWS_AS(open_list_source(write("list", "x.txt\n"), rooted()), Error);
  CHECK_THROWS_AS(open_list_source(write("list", "a/1.jpg\nbare.jpg\n"), rooted()), Error);
  CHECK(error_of([&] { open_list_source(dir / "none", {}); }).code() == ErrorCode::not_found);
  CHECK(error_of([&] { open_list_source(write("list", std::string(70'000, 'x') + "/1.jpg\n"), rooted()); }).code() ==
        ErrorCode::unsupported);
}

TEST_CASE_METHOD(Fixture, "lists take companions and class maps") {
  write_file(dir / "data/a/1.json", "{}");
  SourceOptions options = rooted();
  options.pair = {"jpg", "json"};
  const auto source = open_list_source(write("list", "a/1.jpg\na/1.json\n"), options);
  CHECK(keys(*source) == Names{"a/1"});
  CHECK(field_text(*source, 0, "json") == "{}");
  CHECK(source->notices().count() == 0);
  options = rooted();
  options.class_map = write("map", "a 5\n");
  CHECK(labels(*open_list_source(write("list", "a/1.jpg\n"), options)) == Labels{5});
}

TEST_CASE_METHOD(Fixture, "a CSV's integer labels are taken as they are, its other columns as json") {
  const auto source = open_table_source(
      write("t.csv",
            "\xEF\xBB\xBF"
            "Path,label,note,\"long\nname\"\r\nb/2.png,7,\"say \"\"hi\"\"\",1\r\n\r\na/1.jpg,-1,,2\r\n"),
      {});
  CHECK(keys(*source) == Names{"b/2", "a/1"});
  CHECK(labels(*source) == Labels{7, -1});
  CHECK(source->classes().empty());
  CHECK(source->fields() == Names{"png", "jpg", "cls", "json"});
  CHECK(field_text(*source, 0, "png") == pixmap('2'));
  CHECK(field_text(*source, 0, "cls") == "7");
  CHECK(field_text(*source, 0, "json") == "{\"long\\nname\":\"1\",\"note\":\"say \\\"hi\\\"\"}");
  CHECK(field_text(*source, 1, "json") == "{\"long\\nname\":\"2\",\"note\":\"\"}");
}

TEST_CASE_METHOD(Fixture, "text labels become sorted classes, and are not mixed with numbers") {
  const auto source = open_table_source(write("t.tsv", "file_name\ttarget\na/1.jpg\tdog\nb/2.png\tcat\n"), {});
  CHECK(source->classes() == Names{"cat", "dog"});
  CHECK(labels(*source) == Labels{1, 0});
  CHECK(source->fields() == Names{"jpg", "png", "cls"});
  CHECK(source->label_origin().reading == LabelReading::names);
  const std::string mixed = write("t.csv", "path,label\na/1.jpg,3\nb/2.png,cat\n");
  CHECK_THAT(error_of([&] { open_table_source(mixed, {}); }).what(),
             ContainsSubstring("t.csv: line 3: the label \"cat\""));
  CHECK(open_table_source(mixed, {.class_map = write("map", "3 1\ncat 0\n")})->classes() == Names{"cat", "3"});
  const auto mapped = open_table_source(write("t.csv", "path,label\na/1.jpg,cat\nb/2.png,dog\n"),
                                        {.class_map = write("map", "dog 0\ncat 4\n")});
  CHECK(labels(*mapped) == Labels{4, 0});
  CHECK(mapped->classes().size() == 5);
}

TEST_CASE_METHOD(Fixture, "columns are found by option") {
  const std::string table = write("t.csv", "x,y,path\na/1.jpg,4,zz\n");
  const auto source = open_table_source(table, {.path_column = "x", .label_column = "y"});
  CHECK(keys(*source) == Names{"a/1"});
  CHECK(labels(*source) == Labels{4});
  CHECK(field_text(*source, 0, "json") == "{\"path\":\"zz\"}");
  CHECK_THAT(error_of([&] { open_table_source(table, {.path_column = "none"}); }).what(),
             ContainsSubstring("there are: x, y, path"));
  CHECK_THROWS_AS(open_table_source(table, {.path_column = "x", .label_column = "z"}), Error);
  CHECK(labels(*open_table_source(write("u.csv", "path\na/1.jpg\n"), {})) == Labels{k_no_label});
}

TEST_CASE_METHOD(Fixture, "JSONL keeps the other members as they are") {
  const auto source =
      open_table_source(write("t.jsonl",
                              "{\"file\": \"a/1.jpg\", \"label\": 3, \"box\": [1, 2.5], \"ok\": true}\n\n"
                              "{\"label\": null, \"file\": \"b/2.png\"}\n"),
                        {.allow_unlabeled = true});
  CHECK(keys(*source) == Names{"a/1", "b/2"});
  CHECK(labels(*source) == Labels{3, k_no_label});
  CHECK(field_text(*source, 0, "json") == "{\"box\":[1,2.5],\"ok\":true}");
  CHECK(field_text(*source, 1, "json") == "{}");
  CHECK(field_text(*source, 1, "cls") == "(none)");
}

TEST_CASE_METHOD(Fixture, "a table's errors name file and line") {
  const auto message = [&](const std::string& name, const std::string& content) {
    return std::string(error_of([&] { open_table_source(write(name, content), {}); }).what());
  };
  const auto names_line = [](const std::string& text, int line) {
    return text.find("/data/t.") != std::string::npos &&
           text.find(": line " + std::to_string(line) + ": ") != std::string::npos;
  };
  CHECK(names_line(message("t.csv", "path,label\na/1.jpg,0\n\"x\ny.jpg\",1\na/1.jpg\n"), 5));
  CHECK(names_line(message("t.csv", "path,label\n../1.jpg,0\n"), 2));
  CHECK(names_line(message("t.csv", "path,label\n\"a/1.jpg,0\n"), 2));
  CHECK(names_line(message("t.csv", "where,label\n"), 1));
  CHECK(names_line(message("t.jsonl", "{\"path\":\"a/1.jpg\"}\n{\"path\":"), 2));
  CHECK(names_line(message("t.jsonl", "[]\n"), 1));
  CHECK(names_line(message("t.jsonl", "{\"path\":\"a/1.jpg\",\"label\":[1]}\n"), 1));
  CHECK(names_line(message("t.jsonl", "{\"path\":5.5}\n"), 1));
  CHECK(names_line(message("t.jsonl", "{\"path\":\"a\",\"x\":" + std::string(200'000, '[') + "}\n"), 1));
  CHECK(message("t.csv", "").find("names no image") != std::string::npos);
  CHECK(error_of([&] { open_table_source(dir / "data/none.csv", {}); }).code() == ErrorCode::not_found);
  CHECK_THROWS_AS(open_table_source(dir / "data/a", {}), Error);
  CHECK(names_line(error_of([&] {
                     open_table_source(write("t.csv", "path,label\na/1.jpg,cat\n"),
                                       {.class_map = write("map", "dog 0")});
                   }).what(),
                   2));
}

TEST_CASE_METHOD(Fixture, "a table that changes or is not UTF-8 makes its samples bad") {
  const std::string table = write("t.csv", "path,label,note\na/1.jpg,0,\xFF\nb/2.png,0,fine\n");
  const auto source = open_table_source(table, {});
  Scratch scratch;
  const Error error = error_of([&] { source->read(0, scratch); });
  CHECK(error.code() == ErrorCode::damaged);
  CHECK(error.context().path == dir / "data/a/1.jpg");
  CHECK(field_text(*source, 1, "json") == "{\"note\":\"fine\"}");
  std::string line;
  source->fingerprint(0, line);
  CHECK(line.find("note") == std::string::npos);
  write("t.csv", "path\n");
  CHECK(error_of([&] { source->read(1, scratch); }).code() == ErrorCode::changed);
}
