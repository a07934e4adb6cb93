// Packed datasets as sources, and which kind of source a path is.
#include "bale/formats/registry/registry.hpp"
#include "bale/tests/support/pack_images.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tests/unit/writer/source/source_support.hpp"
#include "bale/writer/packer.hpp"

using namespace bale;
using namespace bale::test;
using Names = std::vector<std::string>;
using Labels = std::vector<std::int64_t>;
namespace fs = std::filesystem;

namespace {

/// Three images in two classes in data/, packed into shards of two samples in packed/.
struct Packed {
  TempDir dir;
  Packed() {
    write_file(dir / "data/a/1.jpg", pixmap('1'));
    write_file(dir / "data/a/2.jpg", pixmap('2'));
    write_file(dir / "data/b/3.png", pixmap('3'));
    pack_to("packed", *open_source(dir / "data", {}));
  }
  void pack_to(const std::string& name, const Source& source) {
    pack_images(source, dir / name, formats().front()->name, 2);
  }
  std::string shards() const {
    return dir / ("packed/data-*" + std::string(formats().front()->layouts.front().suffix));
  }
};

}  // namespace

TEST_CASE_METHOD(Packed, "a packed dataset is a source with what was packed") {
  for (const std::string& spec : {dir / "packed", dir / "packed/manifest.json", shards()}) {
    const auto source = open_source(spec, {});
    CHECK(keys(*source) == Names{"a/1", "a/2", "b/3"});
    CHECK(labels(*source) == Labels{0, 0, 1});
    CHECK(source->fields().size() == 3);
    CHECK(source->fields().back() == "cls");
    CHECK(field_text(*source, 2, "png") == pixmap('3'));
    CHECK(field_text(*source, 2, "cls") == "1");
    SourceSample sample;
    source->describe(2, sample);
    REQUIRE(sample.fields.size() == 2);
    CHECK(source->fields()[sample.fields[0].id] == "png");
    CHECK(sample.total_bytes() == pixmap().size() + 1);
    source->will_need(2);
    CHECK(source->origin(2).find("/packed/data-000001") != std::string::npos);
  }
  CHECK(open_source(dir / "packed", {})->classes() == Names{"a", "b"});
}

TEST_CASE_METHOD(Packed, "a shard that changes while it is packed is no bad sample") {
  const auto source = open_source(dir / "packed", {.skip_damaged = true});
  for (const auto& entry : fs::directory_iterator(dir / "packed")) {
    const std::string file = entry.path().string();
    if (file.ends_with(formats().front()->layouts.front().suffix))
      write_file(file, std::string(slurp(file).size(), 'x'));
  }
  Progress progress;
  const Error error = error_of([&] {
    pack(*source,
         {.destination = dir / "out", .format = find_format(formats().front()->name), .on_error = OnError::skip},
         progress);
  });
  CHECK(error.code() == ErrorCode::changed);
  CHECK_FALSE(fs::exists(dir / "out/manifest.json"));
}

TEST_CASE_METHOD(Packed, "packing from a packed source gives the same files") {
  pack_to("again", *open_source(dir / "packed", {}));
  std::size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(dir / "packed")) {
    const fs::path other = fs::path(dir / "again") / entry.path().filename();
    if (entry.path().filename() == "manifest.json") continue;  // it names the plan, which differs
    CHECK(slurp(entry.path().string()) == slurp(other.string()));
    ++compared;
  }
  CHECK(compared == 4);
}

TEST_CASE_METHOD(Packed, "include and exclude choose packed samples by key") {
  CHECK(keys(*open_source(dir / "packed", {.include = {"*/[13]"}})) == Names{"a/1", "b/3"});
  const auto source = open_source(dir / "packed", {.exclude = {"a/*"}});
  CHECK(keys(*source) == Names{"b/3"});
  CHECK(labels(*source) == Labels{1});
  CHECK(field_text(*source, 0, "png") == pixmap('3'));
  CHECK_THROWS_AS(open_source(dir / "packed", {.include = {"none"}}), Error);
}

TEST_CASE_METHOD(Packed, "fingerprints tell packed samples apart") {
  const auto source = open_source(dir / "packed", {});
  std::string first;
  std::string second;
  source->fingerprint(0, first);
  source->fingerprint(1, second);
  CHECK(first != second);  // same size and label: key and checksum differ
  std::string again;
  open_source(shards(), {})->fingerprint(0, again);
  CHECK(first == again);
}

TEST_CASE_METHOD(Packed, "a path is opened as what it is") {
  write_file(dir / "data/t.CSV", "path,label\na/1.jpg,9\n");
  CHECK(labels(*open_source(dir / "data/t.CSV", {})) == Labels{9});
  fs::remove(dir / "packed/manifest.json");
  CHECK(open_source(dir / "packed", {})->size() == 3);  // shards, no manifest: another tool's
  CHECK(error_of([&] { open_source(dir / "gone", {}); }).code() == ErrorCode::not_found);
  CHECK(error_of([&] { open_source(dir / "gone/*.x", {}); }).code() == ErrorCode::not_found);
  CHECK(error_of([&] { open_source(dir / "data/a/1.jpg", {}); }).code() == ErrorCode::unsupported);
  fs::create_directory(dir / "empty");
  CHECK(error_of([&] { open_source(dir / "empty", {}); }).code() == ErrorCode::invalid_argument);
  write_file(dir / "texts/a.txt", "x");
  CHECK(error_of([&] { open_source(dir / "texts", {}); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE_METHOD(Packed, "a directory of datasets is not one") {
  fs::create_directory(dir / "both");
  pack_to("both/val", *open_source(dir / "data", {}));
  const std::string one = error_of([&] { open_source(dir / "both", {}); }).what();
  CHECK_THAT(one, ContainsSubstring("holds a packed dataset") && ContainsSubstring("both/val"));
}

TEST_CASE_METHOD(Packed, "two files with one key are refused, naming both") {
  write_file(dir / "data/a/1.png", pixmap());
  const auto source = open_source(dir / "data", {});
  const PackOptions options{.destination = dir / "twice", .format = find_format(formats().front()->name), .name = "x"};
  const Error error = error_of([&] { preview_pack(*source, options); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK_THAT(error.what(), ContainsSubstring("a/1.jpg") && ContainsSubstring("a/1.png") && ContainsSubstring("`pair`"));
}
