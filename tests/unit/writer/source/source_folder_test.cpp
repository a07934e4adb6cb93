// Folders: classes and samples as torchvision's ImageFolder has them, and what a folder must not hold.
#include <sys/stat.h>

#include "bale/formats/shard/sample/key.hpp"
#include "bale/tests/unit/writer/source/source_support.hpp"

using namespace bale;
using namespace bale::test;
using Names = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

void add_images(const TempDir& dir, const Names& names) {
  for (const std::string& name : names) write_file(dir / name, pixmap());
}

Names folder_keys(const TempDir& dir, const SourceOptions& options = {}) {
  return keys(*open_folder_source(dir.path(), options));
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "classes and files come in torchvision's order") {
  // make_dataset sorts whole directory paths: '-' (0x2D) is before '/' (0x2F), which is before '0'.
  add_images(dir, {"b/2.jpg", "b/10.jpg", "b/x/z/1.jpg", "b/x-y/1.jpg", "b/x/1.PNG", "b/x0/1.jpeg", "B/1.webp",
                   ".hidden/1.tif", "b/.dot.jpg", "b/a.b.jpg", "b/A.JPEG"});
  const auto source = open_folder_source(dir.path() + "/", {});
  CHECK(source->classes() == Names{".hidden", "B", "b"});
  CHECK(keys(*source) == Names{".hidden/1", "B/1", "b/%2Edot", "b/10", "b/2", "b/A", "b/a%2Eb", "b/x/1", "b/x-y/1",
                               "b/x/z/1", "b/x0/1"});
  CHECK(labels(*source) == std::vector<std::int64_t>{0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  CHECK(source->fields() == Names{"tif", "webp", "jpg", "png", "cls"});
  CHECK(source->origin(0) == dir / ".hidden/1.tif");
}

TEST_CASE_METHOD(InTempDir, "a sample is its file's bytes, its label and its size in pixels") {
  write_file(dir / "a/1.jpg", pixmap('1'));
  write_file(dir / "b/2.png", pixmap('2'));
  const auto source = open_folder_source(dir.path(), {});
  Scratch scratch;
  const SampleView sample = source->read(1, scratch);
  CHECK(sample.key == "b/2");
  CHECK(sample.label == 1);
  CHECK(sample.width == 2);
  CHECK(sample.height == 3);
  REQUIRE(sample.fields.size() == 2);
  CHECK(sample.fields[0].name == "png");
  CHECK(as_text(sample.fields[0].bytes) == pixmap('2'));
  CHECK(sample.fields[1].name == "cls");
  CHECK(as_text(sample.fields[1].bytes) == "1");
  SourceSample described;
  source->describe(1, described);
  REQUIRE(described.fields.size() == 2);
  CHECK(source->fields()[described.fields[0].id] == "png");
  CHECK(described.total_bytes() == pixmap().size() + 1);
  source->will_need(0);
}

TEST_CASE_METHOD(InTempDir, "what is ignored is told, and nothing blocks") {
  add_images(dir, {"c/1.jpg", "elsewhere/d/2.jpg"});
  write_file(dir / "c/notes.txt", "x");
  write_file(dir / "c/jpg", "x");
  write_file(dir / "readme.jpg", "x");
  REQUIRE(::mkfifo((dir / "c/pipe.jpg").c_str(), 0644) == 0);
  fs::create_symlink("nowhere", dir / "c/broken.jpg");
  fs::create_directory_symlink(".", dir / "c/loop");
  fs::create_directory_symlink("..", dir / "c/up");
  fs::create_symlink("1.jpg", dir / "c/linked.jpg");
  fs::create_directory_symlink("elsewhere/d", dir / "linked-class");
  const auto source = open_folder_source(dir.path(), {});
  CHECK(source->classes() == Names{"c", "elsewhere", "linked-class"});
  CHECK(keys(*source) == Names{"c/1", "c/broken", "c/linked", "elsewhere/d/2", "linked-class/2"});
  CHECK(notice_of(*source, dir / "c/notes.txt") == "not an image by its name");
  CHECK(notice_of(*source, dir / "c/jpg") == "not an image by its name");
  CHECK(notice_of(*source, dir / "readme.jpg") == "not in a class folder");
  CHECK(notice_of(*source, dir / "c/pipe.jpg") == "not a regular file");
  Scratch scratch;
  const Error broken = error_of([&] { source->read(1, scratch); });
  CHECK(broken.code() == ErrorCode::not_found);
  CHECK_THAT(broken.what(), ContainsSubstring("c/broken.jpg: a broken link: there is no nowhere"));
  CHECK(notice_of(*source, dir / "c/loop") == "link loop");
  CHECK(notice_of(*source, dir / "c/up") == "link loop");
}

TEST_CASE_METHOD(InTempDir, "links out of the folder are followed but never round in a circle") {
  add_images(dir, {"data/c/1.jpg", "outside/2.jpg"});
  fs::create_directory_symlink("../../outside", dir / "data/c/out");
  fs::create_directory_symlink("../data/c", dir / "outside/back");
  const auto source = open_folder_source(dir / "data", {});
  CHECK(keys(*source) == Names{"c/1", "c/out/2"});
  CHECK(notice_of(*source, dir / "data/c/out/back") == "link loop");
}

TEST_CASE_METHOD(InTempDir, "names of any bytes come through") {
  const std::string utf8 = "\xC3\xA9";
  const std::string raw = "\xFF\xFE";
  const std::string longest = std::string(251, 'n') + ".jpg";
  add_images(dir, {"c\n/a\nb.jpg", "c\n/" + raw + ".jpg", "c\n/" + utf8 + ".jpg", "c\n/" + longest, "c\n/50%.jpg",
                   "c\n/.jpg", "__c__/1.jpg"});
  const auto source = open_folder_source(dir.path(), {});
  CHECK(keys(*source) == Names{"%5F_c__/1", "c\n/%2Ejpg", "c\n/50%25", "c\n/a\nb", "c\n/" + std::string(251, 'n'),
                               "c\n/" + utf8, "c\n/" + raw});
  for (std::uint64_t i = 0; i < source->size(); ++i) {
    CHECK(field_text(*source, i, "jpg") == pixmap());
    SourceSample sample;
    source->describe(i, sample);
    const std::string member = sample.key + ".jpg";
    const auto split = split_member_name(member);
    REQUIRE(split);
    CHECK(split->key == sample.key);
    CHECK_FALSE(is_reserved_member(member));
  }
}

TEST_CASE_METHOD(InTempDir, "a tree deeper than PATH_MAX is read") {
  add_images(dir, {"c/1.jpg"});
  const fs::path start = fs::current_path();
  fs::current_path(dir / "c");
  const std::string component(200, 'd');
  for (int depth = 0; depth < 50; ++depth) {
    REQUIRE(::mkdir(component.c_str(), 0755) == 0);
    REQUIRE(::chdir(component.c_str()) == 0);
  }
  std::ofstream("deep.jpg") << pixmap('d');
  fs::current_path(start);
  const auto source = open_folder_source(dir.path(), {});
  REQUIRE(source->size() == 2);
  CHECK(keys(*source)[1].size() == 2 + 50 * 201 + 4);
  CHECK(field_text(*source, 1, "jpg") == pixmap('d'));
  // remove_all goes by full paths, so the test takes its tree down itself, from the inside out.
  REQUIRE(std::system(("rm -rf '" + (dir / "c") + "'").c_str()) == 0);
}

TEST_CASE_METHOD(InTempDir, "folders without classes or images are refused in a line") {
  CHECK(error_of([&] { open_folder_source(dir / "gone", {}); }).code() == ErrorCode::not_found);
  CHECK_THAT(error_of([&] { open_folder_source(dir.path(), {}); }).what(),
             ContainsSubstring("Couldn't find any class folder in " + dir.path()));
  add_images(dir, {"1.jpg"});
  CHECK(error_of([&] { open_folder_source(dir / "1.jpg", {}); }).code() == ErrorCode::invalid_argument);
  CHECK_THAT(error_of([&] { open_folder_source(dir.path(), {}); }).what(), ContainsSubstring("`flat`"));
  add_images(dir, {"full/1.jpg"});
  fs::create_directories(dir / "x");
  write_file(dir / "y/notes.txt", "");
  CHECK_THAT(error_of([&] { open_folder_source(dir.path(), {}); }).what(),
             ContainsSubstring("Found no valid file for the classes x, y. Supported extensions are: .jpg, .jpeg, "
                               ".png, .ppm, .bmp, .pgm, .tif, .tiff, .webp"));
  const auto source = open_folder_source(dir.path(), {.allow_empty = true});
  CHECK(source->classes() == Names{"full", "x", "y"});
  CHECK(source->size() == 1);
}

TEST_CASE_METHOD(InTempDir, "a flat folder has no labels") {
  add_images(dir, {"2.jpg", "1.jpg", "sub/0.jpg"});
  const auto source = open_folder_source(dir.path(), {.flat = true});
  CHECK(keys(*source) == Names{"1", "2", "sub/0"});
  CHECK(labels(*source) == std::vector<std::int64_t>(3, k_no_label));
  CHECK(source->classes().empty());
  CHECK(source->fields() == Names{"jpg"});
  CHECK(field_text(*source, 0, "cls") == "(none)");
}

TEST_CASE_METHOD(InTempDir, "include and exclude choose by the path below the folder") {
  add_images(dir, {"a/1.jpg", "a/x/2.jpg", "b/1.jpg", "b/1.png"});
  CHECK(folder_keys(dir, {.include = {"a/*"}}) == Names{"a/1", "a/x/2"});
  CHECK(folder_keys(dir, {.exclude = {"*.jpg"}}) == Names{"b/1"});
  CHECK(folder_keys(dir, {.include = {"*1*"}, .exclude = {"b/*"}}) == Names{"a/1"});
  CHECK(error_of([&] { folder_keys(dir, {.include = {"z*"}}); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE_METHOD(InTempDir, "patterns are written as for rsync and git") {
  add_images(dir, {"a/1.jpg", "a/x/2.jpg", "b/1.jpg", "b/x/2.jpg", "b/x/y/3.jpg"});
  const Names only_b{"b/1", "b/x/2", "b/x/y/3"};
  for (const std::string pattern :
       {"a", "a/", "./a", "./a/", "/a", "/a/", "a//", "**/a", "a/**", "a/*", "[a]", "./a/*"}) {
    CAPTURE(pattern);
    const auto source = open_folder_source(dir.path(), {.exclude = {pattern}});
    CHECK(keys(*source) == only_b);
    CHECK(source->notices().count_of(WarningKind::no_match) == 0);
    CHECK_FALSE(source->notices().has_unasked());
  }
  CHECK(folder_keys(dir, {.exclude = {dir / "a"}}) == only_b);
  CHECK(folder_keys(dir, {.exclude = {dir / "a/"}}) == only_b);
  CHECK(folder_keys(dir, {.include = {"b/"}}) == only_b);
  CHECK(folder_keys(dir, {.include = {"b"}}) == only_b);
  CHECK(folder_keys(dir, {.exclude = {"x"}}) == Names{"a/1", "b/1"});  // a word alone, at any depth
  CHECK(folder_keys(dir, {.exclude = {"x/"}}) == Names{"a/1", "b/1"});
  CHECK(folder_keys(dir, {.exclude = {"2.jpg"}}) == Names{"a/1", "b/1", "b/x/y/3"});
  CHECK(folder_keys(dir, {.exclude = {"/x"}}) == Names{"a/1", "a/x/2", "b/1", "b/x/2", "b/x/y/3"});
  CHECK(folder_keys(dir, {.exclude = {"b/**/3.jpg"}}) == Names{"a/1", "a/x/2", "b/1", "b/x/2"});
  CHECK(folder_keys(dir, {.exclude = {"b/**/1.jpg"}}) == Names{"a/1", "a/x/2", "b/x/2", "b/x/y/3"});
  CHECK(folder_keys(dir, {.exclude = {"1.jpg/"}}).size() == 5);  // no directory
}

TEST_CASE_METHOD(InTempDir, "patterns that match nothing are told, others are not") {
  add_images(dir, {"a/1.jpg", "b/1.jpg"});
  write_file(dir / "b/notes.txt", "x");
  const auto source = open_folder_source(
      dir.path(), {.include = {"*.jpg", "*.png"}, .exclude = {"a", "a/1.jpg", "a/*", "c", "1.jpg/", "notes.txt"}});
  CHECK(keys(*source) == Names{"b/1"});
  Names told;
  for (const Warning& warning : source->notices().warnings()) {
    CHECK(warning.kind == WarningKind::no_match);
    CHECK(warning.place == dir.path());
    told.push_back(warning.what);
  }
  CHECK(told == Names{"`include`: nothing matches \"*.png\"", "`exclude`: nothing matches \"c\"",
                      "`exclude`: nothing matches \"1.jpg/\""});
}

TEST_CASE_METHOD(InTempDir, "broken links that may be folders are missing samples") {
  add_images(dir, {"a/1.jpg"});
  for (const std::string place : {"class", "a/more"}) {
    fs::create_symlink("nowhere", dir / place);
    const Error error = error_of([&] { open_folder_source(dir.path(), {}); });
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(error.context().path == dir / place);
    CHECK(open_folder_source(dir.path(), {.skip_damaged = true})->losses().size() == 1);
    CHECK(open_folder_source(dir.path(), {.exclude = {place}})->size() == 1);
    fs::remove(dir / place);
  }
  fs::create_symlink("nowhere", dir / "a/notes.txt");
  CHECK(notice_of(*open_folder_source(dir.path(), {}), dir / "a/notes.txt") == "broken link, not an image by its name");
}

TEST_CASE_METHOD(InTempDir, "options that the source does not use are told") {
  add_images(dir, {"a/1.jpg"});
  const auto source = open_folder_source(dir.path(), {.path_column = "x", .root = "y", .flat = true, .list_jobs = 2});
  REQUIRE(source->notices().warnings().size() == 2);
  CHECK(source->notices().count_of(WarningKind::no_effect) == 2);
  CHECK(source->notices().warnings()[0].what == "`root` has no effect: the folder is packed without class folders");
}

TEST_CASE_METHOD(InTempDir, "a class map decides labels and must know every folder") {
  add_images(dir, {"data/cat/1.jpg", "data/dog/1.jpg"});
  write_file(dir / "map.json", "{\"dog\": 0, \"cat\": 2}");
  const auto source = open_folder_source(dir / "data", {.class_map = dir / "map.json"});
  CHECK(labels(*source) == std::vector<std::int64_t>{2, 0});
  CHECK(source->classes() == Names{"dog", "", "cat"});
  CHECK(field_text(*source, 0, "cls") == "2");
  write_file(dir / "map.json", "[\"dog\"]");
  const Error error = error_of([&] { open_folder_source(dir / "data", {.class_map = dir / "map.json"}); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(error.context().path == dir / "data/cat");
}

TEST_CASE_METHOD(InTempDir, "files with the same stem can make one sample") {
  add_images(dir, {"c/1.jpg", "c/1-b.JPEG", "c/2.jpg"});
  write_file(dir / "c/1.json", "{\"a\":1}");
  write_file(dir / "c/1-b.json", "{}");
  write_file(dir / "c/3.json", "{}");
  write_file(dir / "c/1.txt", "x");
  const auto source = open_folder_source(dir.path(), {.pair = {"jpeg", ".json"}});
  CHECK(source->fields() == Names{"jpg", "json", "cls"});
  CHECK(keys(*source) == Names{"c/1-b", "c/1", "c/2"});
  CHECK(field_text(*source, 1, "jpg") == pixmap());
  CHECK(field_text(*source, 1, "json") == "{\"a\":1}");
  CHECK(field_text(*source, 1, "cls") == "0");
  Scratch scratch;
  const Error error = error_of([&] { source->read(2, scratch); });
  CHECK(error.code() == ErrorCode::not_found);
  CHECK(error.context().path == dir / "c/2.jpg");
  CHECK(notice_of(*source, dir / "c/3.json") == "no jpg file next to it");
  SourceSample described;
  source->describe(1, described);
  CHECK(described.total_bytes() == pixmap().size() + 7 + 1);
  source->describe(2, described);
  CHECK(described.fields.size() == 2);
  CHECK_THROWS_AS(open_folder_source(dir.path(), {.pair = {"jpg"}}), Error);
  CHECK_THROWS_AS(open_folder_source(dir.path(), {.pair = {"jpg", "jpeg"}}), Error);
  CHECK_THROWS_AS(open_folder_source(dir.path(), {.pair = {"jpg", "cls"}}), Error);
  write_file(dir / "c/1.JSON", "{}");
  CHECK_THROWS_AS(open_folder_source(dir.path(), {.pair = {"jpg", "json"}}), Error);
}

TEST_CASE_METHOD(InTempDir, "an unlabeled sample takes its label from a cls file next to it") {
  add_images(dir, {"1.jpg"});
  write_file(dir / "1.cls", "7");
  const auto source = open_folder_source(dir.path(), {.pair = {"jpg", "cls"}, .flat = true});
  Scratch scratch;
  const SampleView sample = source->read(0, scratch);
  CHECK(sample.label == 7);
  CHECK(sample.fields.size() == 2);
}

TEST_CASE_METHOD(InTempDir, "bad samples are told when they are read") {
  add_images(dir, {"c/gone.jpg", "c/now-a-folder.jpg", "c/now-a-pipe.jpg"});
  write_file(dir / "c/empty.jpg", "");
  write_file(dir / "c/text.jpg", "not an image");
  const auto source = open_folder_source(dir.path(), {});
  for (const char* name : {"c/gone.jpg", "c/now-a-folder.jpg", "c/now-a-pipe.jpg"}) fs::remove(dir / name);
  fs::create_directory(dir / "c/now-a-folder.jpg");
  REQUIRE(::mkfifo((dir / "c/now-a-pipe.jpg").c_str(), 0644) == 0);
  const ErrorCode expected[] = {ErrorCode::damaged, ErrorCode::not_found, ErrorCode::unsupported,
                                ErrorCode::unsupported, ErrorCode::damaged};
  REQUIRE(source->size() == 5);
  Scratch scratch;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const Error error = error_of([&] { source->read(i, scratch); });
    CHECK(error.code() == expected[i]);
    CHECK(error.context().path == source->origin(i));
    source->will_need(i);
  }
}

TEST_CASE_METHOD(InTempDir, "a file that is another one by the time it is read is taken as it is then") {
  write_file(dir / "c/1.jpg", pixmap() + pixmap());
  const auto source = open_folder_source(dir.path(), {});
  std::string before;
  source->fingerprint(0, before);
  write_file(dir / "c/1.jpg", pixmap('y'));
  CHECK(field_text(*source, 0, "jpg") == pixmap('y'));
  std::string after;
  open_folder_source(dir.path(), {})->fingerprint(0, after);
  CHECK(before != after);
  std::string again;
  source->fingerprint(0, again);
  CHECK(before == again);
}

TEST_CASE_METHOD(InTempDir, "any number of threads lists the same, in the same order") {
  for (int cls = 0; cls < 12; ++cls) {
    for (int sub = 0; sub < 9; ++sub) {
      const std::string folder = dir / ("class" + std::to_string(cls) + "/a/" + std::to_string(sub) + "/b");
      write_file(folder + "/1.jpg", pixmap());
      write_file(folder + "/notes.txt", "no image");
      write_file(folder + "/../2.png", pixmap());
    }
    fs::create_directory_symlink("../class0/a", dir / ("class" + std::to_string(cls) + "/link"));
    fs::create_directory_symlink("..", dir / ("class" + std::to_string(cls) + "/a/loop"));
    fs::create_symlink("nowhere", dir / ("class" + std::to_string(cls) + "/broken.jpg"));
  }
  const auto listed = [&](unsigned jobs, const Names& exclude) {
    const auto source = open_folder_source(dir.path(), {.exclude = exclude, .list_jobs = jobs});
    Names all = keys(*source);
    for (const Notice& notice : source->notices().kept()) all.push_back(notice.name + ": " + notice.why);
    std::string fingerprints;
    for (std::uint64_t i = 0; i < source->size(); ++i) source->fingerprint(i, fingerprints);
    all.push_back(fingerprints);
    return all;
  };
  const Names exclude{"class3", "class*/a/4"};
  const Names alone = listed(1, {});
  const Names some_alone = listed(1, exclude);
  CHECK(alone.size() > 2 * 12 * 9);
  CHECK(some_alone.size() < alone.size());
  for (const unsigned jobs : {0U, 2U, 5U, 16U}) {
    CHECK(listed(jobs, {}) == alone);
    CHECK(listed(jobs, exclude) == some_alone);
  }
}

TEST_CASE_METHOD(InTempDir, "listing stops its threads when it fails early") {
  for (int cls = 0; cls < 50; ++cls) write_file(dir / ("class" + std::to_string(cls) + "/1.jpg"), pixmap());
  fs::create_directory(dir / "class00");  // empty: an error
  for (int i = 0; i < 20; ++i) CHECK_THROWS_AS(open_folder_source(dir.path(), {.list_jobs = 8}), Error);
}
