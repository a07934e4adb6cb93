// Writer: the same bytes as pack(), checkpoints, resumption, what is refused, threads, processes.
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "bale/formats/registry/registry.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/fake_source.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using bale::test::error_of;
using bale::test::FakeSource;
using bale::test::InTempDir;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view k_small_pixmap = "P6\n2 3\n255\nxxxxxxxxxxxxxxxxxx";

/// A FakeSource whose images have a signature, as a Writer wants them.
class Images : public FakeSource {
 public:
  using FakeSource::FakeSource;
  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    SampleView sample = FakeSource::read(i, scratch);
    const FieldView& image = scratch.fields()[0];
    std::copy_n(bale::as_bytes("P6\n10 20\n255\n").begin(), 13, const_cast<std::byte*>(image.bytes.data()));
    scratch.fields()[0].name = "ppm";
    return sample;
  }
  const std::vector<std::string>& fields() const override { return names_; }

 private:
  std::vector<std::string> names_{"ppm", "cls", "json"};
};

Writer::Options options_of(const std::string& destination, const char* format = "tar") {
  Writer::Options options{.pack = {.destination = destination, .format = find_format(format), .name = "data"}};
  options.pack.sizing.shard_samples = 10;
  options.pack.jobs = 2;
  options.classes = FakeSource(1).classes();
  return options;
}

Writer::Options resuming(Writer::Options options) {
  options.pack.mode = DestinationMode::resume;
  return options;
}

void add_samples(Writer& writer, const Source& source, std::uint64_t begin, std::uint64_t end) {
  Scratch scratch;
  for (std::uint64_t i = begin; i < end; ++i) {
    const SampleView sample = source.read(i, scratch);
    CHECK(writer.add(sample.key, sample.fields, sample.label) == i);
  }
}

std::uint64_t add_one(Writer& writer, std::string_view key, std::string_view field = "ppm",
                      std::string_view content = k_small_pixmap, std::int64_t label = 0) {
  const FieldView fields[] = {{field, bale::as_bytes(content)}};
  return writer.add(key, fields, label);
}

/// Content of all files, without the manifest, whose `plan` is that of its maker.
std::map<std::string, std::string> shards_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file() || entry.path().filename() == "manifest.json") continue;
    files[fs::relative(entry.path(), directory).string()] = test::slurp(entry.path().string());
  }
  return files;
}

std::map<std::string, std::string> packed(const Source& source, PackOptions options, const std::string& destination) {
  options.destination = destination;
  Progress progress;
  pack(source, options, progress);
  return shards_of(destination);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "a Writer writes the bytes that pack() writes, in every layout that keeps bytes") {
  const Images source(45);
  for (const Format* format : formats()) {
    for (const Layout& layout : format->layouts) {
      if (!layout.keeps_bytes || !layout.keeps_all_fields) continue;
      const std::string name = std::string(format->name) + "." + std::string(layout.name);
      CAPTURE(name);
      Writer::Options options = options_of(dir / ("writer-" + name), name.c_str());
      options.memory_bytes = 1;  // everything waits on the disk
      Writer writer(options);
      add_samples(writer, source, 0, 45);
      const PackReport report = writer.close();
      CHECK(report.num_samples == 45);
      CHECK(report.outputs.at(0).manifest.classes == source.classes());
      CHECK(shards_of(options.pack.destination) == packed(source, options.pack, dir / ("pack-" + name)));
    }
  }
}

TEST_CASE_METHOD(InTempDir, "add_many adds what single adds do, and nothing of a call with a sample that is refused") {
  const Images source(45);
  std::vector<Scratch> scratches(45);
  std::deque<std::string> texts;  // keys and labels, which the next read() overwrites
  std::vector<SampleView> samples;
  for (std::uint64_t i = 0; i < 45; ++i) {
    SampleView& sample = samples.emplace_back(source.read(i, scratches[i]));
    sample.key = texts.emplace_back(sample.key);
    FieldView& label = scratches[i].fields()[1];
    label.bytes = bale::as_bytes(texts.emplace_back(bale::as_text(label.bytes)));
  }
  const std::span all(samples);
  const Writer::Options options = options_of(dir / "out");
  Writer writer(options);
  CHECK(writer.add_many(all.first(3)) == 0);
  CHECK(writer.add_many(all.subspan(3, 30)) == 3);
  const auto refused = [&](std::vector<SampleView> call) { return error_of([&] { writer.add_many(call); }); };
  const Error twice = refused({samples[40], samples[41], samples[40]});
  CHECK(twice.code() == ErrorCode::invalid_argument);
  CHECK(twice.message() == "position 2: sample 35 has the same key as sample 33");
  CHECK(twice.context().key == samples[40].key);
  CHECK(refused({samples[40], samples[32]}).message() == "position 1: sample 34 has the same key as sample 32");
  CHECK(refused({samples[40], SampleView{.key = "bad"}}).message() == "position 1: a sample without fields");
  CHECK(writer.count() == 33);
  CHECK_FALSE(writer.contains(samples[40].key));
  CHECK(writer.add_many({}) == 33);
  CHECK(writer.add_many(all.subspan(33)) == 33);
  writer.close();
  CHECK(shards_of(options.pack.destination) == packed(source, options.pack, dir / "pack"));
}

TEST_CASE_METHOD(InTempDir, "shards are cut by bytes as pack() cuts them") {
  const Images source(60);
  Writer::Options options = options_of(dir / "writer");
  options.pack.sizing = {.shard_bytes = 20'000};
  Writer writer(options);
  add_samples(writer, source, 0, 60);
  writer.close();
  CHECK(shards_of(dir / "writer") == packed(source, options.pack, dir / "pack"));
}

TEST_CASE_METHOD(InTempDir, "a resumed Writer has every sample of the checkpoint and ends with the same bytes") {
  const Images source(47);
  for (const char* const format : {"tar", "tfrecord"}) {  // the names of the latter have the number of shards
    const auto whole = packed(source, options_of("", format).pack, dir / (std::string("whole-") + format));
    for (const std::uint64_t stop : {0U, 1U, 10U, 25U, 40U, 47U}) {
      CAPTURE(format, stop);
      const Writer::Options options = options_of(dir / (format + std::to_string(stop)), format);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {  // ends without a destructor, as if it were killed
        Writer writer(options);
        add_samples(writer, source, 0, stop);
        ::_exit(writer.checkpoint() == stop ? 0 : 1);
      }
      int status = -1;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(status == 0);
      CHECK_FALSE(fs::exists(options.pack.destination + "/manifest.json"));
      Writer writer(resuming(options));
      REQUIRE(writer.count() == stop);
      add_samples(writer, source, stop, 47);
      writer.close();
      CHECK(shards_of(options.pack.destination) == whole);
      Writer finished(resuming(options));
      CHECK(finished.count() == 47);
      CHECK(finished.contains(source.key_of(3)));
      CHECK_THROWS_WITH(add_one(finished, "more"), ContainsSubstring("complete"));
      CHECK(finished.close().num_samples == 47);
    }
  }
}

TEST_CASE_METHOD(InTempDir, "what a Writer leaves without a manifest is kept, and another run is refused") {
  const Images source(30);
  {
    Writer writer(options_of(dir / "data"));
    add_samples(writer, source, 0, 17);
    CHECK_THROWS_WITH(Writer(resuming(options_of(dir / "data"))), ContainsSubstring("another bale"));
    CHECK(writer.abandon() == 17);
    CHECK_THROWS_WITH(add_one(writer, "more"), ContainsSubstring("resume"));
  }
  CHECK_THROWS_WITH(Writer(options_of(dir / "data")), ContainsSubstring("`resume`"));
  Writer::Options other = resuming(options_of(dir / "data"));
  other.pack.sizing.shard_samples = 11;
  CHECK_THROWS_WITH(Writer(other), ContainsSubstring("other files or options"));
  {
    Writer writer(resuming(options_of(dir / "data")));
    CHECK(writer.count() == 17);
    CHECK(writer.contains(source.key_of(16)));
    CHECK_FALSE(writer.contains(source.key_of(17)));
    add_samples(writer, source, 17, 25);
  }  // the destructor keeps the samples, too
  Writer writer(resuming(options_of(dir / "data")));
  CHECK(writer.count() == 25);
  add_samples(writer, source, 25, 30);
  writer.close();
  CHECK(shards_of(dir / "data") == packed(source, options_of("").pack, dir / "whole"));
}

TEST_CASE_METHOD(InTempDir, "a Writer without samples leaves nothing") {
  { const Writer writer(options_of(dir / "data")); }
  CHECK_FALSE(fs::exists(dir / "data"));
  Writer writer(options_of(dir / "data"));
  CHECK_THROWS_WITH(writer.close(), ContainsSubstring("no sample"));
}

TEST_CASE_METHOD(InTempDir, "a repeated key is refused, wherever the first sample is, and both are named") {
  const Images source(35);
  Writer writer(options_of(dir / "data"));
  add_samples(writer, source, 0, 35);
  CHECK_THROWS_WITH(add_one(writer, source.key_of(33)), ContainsSubstring("sample 35 has the same key as sample 33"));
  writer.checkpoint();  // the first shards are published
  CHECK_THROWS_WITH(add_one(writer, source.key_of(12)),
                    ContainsSubstring("sample 35 has the same key as sample 2 of data-000001.tar"));
  CHECK(writer.count() == 35);
  writer.close();
}

TEST_CASE_METHOD(InTempDir, "overwriting keeps the old dataset until the new one is complete") {
  const Images source(30);
  const auto old = packed(source, options_of("").pack, dir / "data");
  Writer::Options options = options_of(dir / "data");
  options.pack.sizing.shard_samples = 7;
  CHECK_THROWS_WITH(Writer(options), ContainsSubstring("holds a packed dataset"));
  std::ofstream(dir / "data/notes.txt") << "mine";
  options.pack.mode = DestinationMode::overwrite;
  {
    Writer writer(options);
    add_samples(writer, source, 0, 22);
    writer.checkpoint();
    CHECK(Dataset::open(dir / "data").size() == 30);
  }
  options.pack.mode = DestinationMode::resume;
  Writer writer(options);
  CHECK(writer.count() == 22);
  add_samples(writer, source, 22, 30);
  const PackReport report = writer.close();
  REQUIRE(report.replaced.size() == 1);
  CHECK(report.replaced[0].num_samples == 30);
  options.pack.mode = DestinationMode::fresh;
  auto expected = packed(source, options.pack, dir / "whole");
  expected["notes.txt"] = "mine";
  CHECK(shards_of(dir / "data") == expected);
}

TEST_CASE_METHOD(InTempDir, "samples that break a rule are refused and not added") {
  Writer writer(options_of(dir / "data"));
  for (const std::string_view key : {std::string_view(""), std::string_view("/a"), std::string_view("a/"),
                                     std::string_view("../a"), std::string_view("a\0b", 3)}) {
    CHECK(error_of([&] { add_one(writer, key); }).code() == ErrorCode::invalid_argument);
  }
  for (const char* const field : {"", "a/b", ".jpg", "a..b", "__key__", "a b"}) {
    CHECK_THROWS_WITH(add_one(writer, "key", field), ContainsSubstring("is not a valid name of a field"));
  }
  CHECK_THROWS_WITH(add_one(writer, "key", "jpg", "no image"), ContainsSubstring("not an image"));
  CHECK_THROWS_WITH(add_one(writer, "key", "ppm", k_small_pixmap, 4), ContainsSubstring("label 4 of 4 classes"));
  CHECK_THROWS_WITH(add_one(writer, "key", "cls", "3", 2), ContainsSubstring("says otherwise"));
  CHECK(writer.count() == 0);
  CHECK(add_one(writer, "__meta__/a.b%c") == 0);
  CHECK_THROWS_WITH(add_one(writer, "__meta__/a.b%c"), ContainsSubstring("same key"));
  const PackReport report = writer.close();
  CHECK(report.outputs.at(0).manifest.keys == KeyForm::encoded);
  CHECK(Dataset::open(dir / "data").size() == 1);
}

TEST_CASE_METHOD(InTempDir, "a sample that cannot be written stops the Writer, or is skipped") {
  Writer::Options options = options_of(dir / "fail");
  options.pack.on_error = OnError::skip;
  Writer skipping(options);
  for (int i = 0; i < 12; ++i) add_one(skipping, std::to_string(i), "ppm", i == 5 ? "no image" : k_small_pixmap);
  const PackReport report = skipping.close();
  CHECK(report.num_samples == 11);
  REQUIRE(report.skipped.size() == 1);
  CHECK(report.skipped[0].origin == "sample 5 \"5\"");
  CHECK(fs::exists(dir / "fail/skipped.jsonl"));
}

TEST_CASE_METHOD(InTempDir, "many threads add, and every sample is there once") {
  Writer::Options options = options_of(dir / "data");
  options.memory_bytes = std::uint64_t{5} << 20;
  Writer writer(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < 50; ++i) {
        add_one(writer, std::to_string(t) + "/" + std::to_string(i));
        if (i % 20 == t) writer.checkpoint();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  const Dataset dataset = Dataset::open(dir / "data");
  REQUIRE(dataset.size() == 200);
  for (int i = 0; i < 200; ++i) CHECK(dataset.find(std::to_string(i / 50) + "/" + std::to_string(i % 50)));
}

TEST_CASE_METHOD(InTempDir, "a forked child cannot use the Writer of its parent") {
  Writer writer(options_of(dir / "data"));
  add_one(writer, "a");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      add_one(writer, "b");
      ::_exit(1);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::unsupported ? 0 : 2);
    }
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(writer.close().num_samples == 1);
}
