// Packing: the same bytes for any number of jobs, resumption, policies, splits, what is never deleted.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "bale/formats/registry/registry.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/fake_source.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/scale_out.hpp"

using namespace bale;
using bale::test::FakeSource;
using bale::test::InTempDir;
using bale::test::TempDir;
namespace fs = std::filesystem;

namespace {

/// Options for a layout that gives back the bytes it was given, in shards of ten samples.
PackOptions small_shards(const std::string& destination) {
  PackOptions options{.destination = destination, .format = find_format(formats().front()->name), .name = "data"};
  options.sizing.shard_samples = 10;
  options.jobs = 2;
  return options;
}

std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), directory).string()] = test::slurp(entry.path().string());
  }
  return files;
}

std::map<std::string, std::string> packed(const Source& source, PackOptions options) {
  Progress progress;
  pack(source, options, progress);
  return files_of(options.destination);
}

/// Its sample 17 has a key, a field, a field's number and a class that can be odd.
class OddSource : public FakeSource {
 public:
  using FakeSource::FakeSource;
  std::uint32_t field_id = 2;
  std::string_view field = "json";
  std::int64_t class_number = 1;
  std::string_view key{};

  void describe(std::uint64_t i, SourceSample& out) const override {
    FakeSource::describe(i, out);
    if (i == 17) out.fields.back().id = field_id;
  }
  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    SampleView sample = FakeSource::read(i, scratch);
    if (i != 17) return sample;
    sample.label = class_number;
    if (!key.empty()) sample.key = key;
    scratch.fields().back().name = field;
    return sample;
  }
};

/// Packs until sample 45, which cannot be read, and returns the options that resume the run.
PackOptions broken_off(FakeSource& source, const std::string& destination) {
  source.before_read = [](std::uint64_t i) {
    if (i == 45) throw Error(ErrorCode::io, "cannot read");
  };
  PackOptions options = small_shards(destination);
  options.jobs = 1;
  Progress progress;
  CHECK_THROWS(pack(source, options, progress));
  options.mode = DestinationMode::resume;
  return options;
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "packing gives the same bytes for any number of jobs, and reads back") {
  const FakeSource source(95);
  PackOptions options = small_shards(dir / "one");
  options.jobs = 1;
  const auto one = packed(source, options);
  options = small_shards(dir / "five");
  options.jobs = 5;
  CHECK(packed(source, options) == one);
  CHECK(one.size() == 21);  // 10 shards, 10 indexes, the manifest

  const Dataset dataset = Dataset::open(dir / "five");
  REQUIRE(dataset.size() == 95);
  CHECK(dataset.classes() == source.classes());
  Scratch read;
  Scratch expected;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const SampleView got = dataset.read(i, read);
    const SampleView want = source.read(i, expected);
    CHECK(got.key == want.key);
    CHECK(got.label == want.label);
    CHECK(got.height == 20);
    for (const FieldView& field : want.fields) {
      REQUIRE(got.find(field.name) != nullptr);
      CHECK(as_text(got.find(field.name)->bytes) == as_text(field.bytes));
    }
    CHECK(dataset.find(want.key) == i);
  }
}

TEST_CASE_METHOD(InTempDir, "a run that fails in the middle is resumed to the bytes of a run that did not") {
  FakeSource source(95);
  const auto whole = packed(source, small_shards(dir / "whole"));

  for (const std::uint64_t bad : {0U, 37U, 94U}) {
    const std::string destination = dir / ("resumed" + std::to_string(bad));
    source.before_read = [bad](std::uint64_t i) {
      if (i == bad) throw Error(ErrorCode::io, "cannot read", {.path = "fake"});
    };
    Progress progress;
    CHECK_THROWS_AS(pack(source, small_shards(destination), progress), Error);
    CHECK_FALSE(fs::exists(destination + "/manifest.json"));
    if (fs::exists(destination)) {
      CHECK_THROWS_WITH(Dataset::open(destination), ContainsSubstring("unfinished"));
      Progress again;
      CHECK_THROWS_WITH(pack(source, small_shards(destination), again), ContainsSubstring("`resume`"));
    }
    source.before_read = [](std::uint64_t) {};
    PackOptions options = small_shards(destination);
    options.mode = DestinationMode::resume;
    CHECK(packed(source, options) == whole);
    CHECK(packed(source, options) == whole);  // resuming what is finished changes nothing
  }
}

TEST_CASE_METHOD(InTempDir, "a finished shard that was damaged before the resume is written again") {
  FakeSource source(50);
  const auto whole = packed(source, small_shards(dir / "whole"));
  PackOptions options = broken_off(source, dir / "data");
  const std::string shard = (dir / "data") + "/" + whole.begin()->first;
  REQUIRE(fs::exists(shard));
  std::fstream(shard, std::ios::in | std::ios::out | std::ios::binary).seekp(700).put('!');
  source.before_read = [](std::uint64_t) {};
  CHECK(packed(source, options) == whole);
}

TEST_CASE_METHOD(InTempDir, "resuming with other options is refused") {
  FakeSource source(50);
  PackOptions options = broken_off(source, dir / "data");
  options.shuffle_seed = 3;
  Progress progress;
  CHECK_THROWS_WITH(pack(source, options, progress), ContainsSubstring("other files or options"));
}

TEST_CASE_METHOD(InTempDir, "a run that is at work is not overwritten or resumed by another") {
  FakeSource source(30);
  PackOptions options = small_shards(dir / "data");
  options.jobs = 1;
  source.before_read = [&](std::uint64_t i) {
    if (i != 25) return;
    const FakeSource other(30);
    for (const DestinationMode mode : {DestinationMode::overwrite, DestinationMode::resume}) {
      PackOptions intruding = options;
      intruding.mode = mode;
      Progress progress;
      CHECK_THROWS_WITH(pack(other, intruding, progress), ContainsSubstring("another bale is packing"));
    }
  };
  Progress progress;
  pack(source, options, progress);
  CHECK(Dataset::open(dir / "data").size() == 30);
}

TEST_CASE_METHOD(InTempDir, "a stop request ends the run with `interrupted`") {
  FakeSource source(95);
  Progress progress;
  source.before_read = [&](std::uint64_t i) {
    if (i == 33) progress.stop = true;
  };
  PackOptions options = small_shards(dir / "data");
  options.jobs = 1;
  CHECK(test::code_of([&] { pack(source, options, progress); }) == ErrorCode::interrupted);
  CHECK(fs::exists((dir / "data") + "/.bale-partial/journal.jsonl"));
}

TEST_CASE_METHOD(InTempDir, "bad samples are skipped by policy, counted and named") {
  FakeSource source(30);
  source.before_read = [](std::uint64_t i) {
    if (i % 10 == 3) throw Error(ErrorCode::damaged, "not an image", {.path = "file" + std::to_string(i)});
  };
  PackOptions options = small_shards(dir / "data");
  options.on_error = OnError::skip;
  Progress progress;
  const PackReport report = pack(source, options, progress);
  CHECK(report.num_samples == 27);
  REQUIRE(report.skipped.size() == 3);
  CHECK(report.skipped[0].origin == "fake:3");
  CHECK(report.outputs[0].manifest.num_skipped == 3);
  const auto files = files_of(dir / "data");
  CHECK(files.at("skipped.jsonl").find("file13") != std::string::npos);
  CHECK(Dataset::open(dir / "data").size() == 27);
}

TEST_CASE("a lack of descriptors or memory is never taken for a bad sample") {
  for (const int value : {EMFILE, ENFILE, ENOMEM}) {
    FakeSource source(30);
    source.before_read = [value](std::uint64_t i) {
      if (i == 7) throw Error(ErrorCode::io, "cannot open", {.path = "file", .system_error = value});
    };
    const TempDir dir;
    PackOptions options = small_shards(dir / "data");
    options.on_error = OnError::skip;
    Progress progress;
    CHECK_THROWS_AS(pack(source, options, progress), Error);
    CHECK_FALSE(fs::exists((dir / "data") + "/manifest.json"));
  }
}

TEST_CASE_METHOD(InTempDir, "what bale did not write is never deleted") {
  const FakeSource source(25);
  const std::string data = dir / "data";
  const auto first = packed(source, small_shards(data));
  std::ofstream(data + "/mine.txt") << "keep me";
  PackOptions options = small_shards(data);
  Progress progress;
  CHECK_THROWS_WITH(pack(source, options, progress), ContainsSubstring("is not empty"));
  options.mode = DestinationMode::overwrite;
  auto second = packed(source, options);
  CHECK(second.at("mine.txt") == "keep me");
  second.erase("mine.txt");
  CHECK(second == first);

  const std::string other = dir / "other";
  fs::create_directory(other);
  std::ofstream(other + "/" + first.begin()->first) << "a stranger's file of the same name";
  options.destination = other;
  CHECK_THROWS_WITH(pack(source, options, progress), ContainsSubstring("was not written by bale"));
}

TEST_CASE_METHOD(InTempDir, "splits share out every sample exactly once, by class when asked") {
  const FakeSource source(400);
  PackOptions options = small_shards(dir / "data");
  options.splits = {{"train", 0.75}, {"val", 0.25}};
  options.stratify = true;
  Progress progress;
  const PackReport report = pack(source, options, progress);
  REQUIRE(report.outputs.size() == 2);
  CHECK(report.outputs[0].manifest.num_samples == 300);
  std::set<std::string> keys;
  for (const char* split : {"/train", "/val"}) {
    const Dataset dataset = Dataset::open((dir / "data") + split);
    std::map<std::int64_t, int> per_class;
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      CHECK(keys.insert(std::string(dataset.key(i))).second);
      ++per_class[dataset.label(i)];
    }
    for (const auto& [label, count] : per_class) CHECK(count == (std::string(split) == "/val" ? 25 : 75));
  }
  CHECK(keys.size() == 400);
}

TEST_CASE("shards are cut by bytes, by count or by samples") {
  const FakeSource source(100);
  PackOptions options = small_shards("unused");
  options.sizing = {.shard_bytes = 5000};
  for (const auto& row : preview_pack(source, options).shards) CHECK(row.payload_bytes <= 5000);
  options.sizing = {.shard_count = 7};
  const auto by_count = preview_pack(source, options).shards;
  CHECK(by_count.size() == 7);
  std::uint64_t sum = 0;
  for (const auto& row : by_count) {
    CHECK((row.num_samples == 14 || row.num_samples == 15));
    sum += row.num_samples;
  }
  CHECK(sum == 100);
  options.sizing = {.shard_samples = 30};
  CHECK(preview_pack(source, options).shards.size() == 4);
  options.sizing = {.shard_bytes = 1};
  CHECK(preview_pack(source, options).shards.size() == 100);
}

TEST_CASE_METHOD(InTempDir, "a plan and a preview refuse the options of formats that a run refuses") {
  const FakeSource source(3);
  PackOptions options = small_shards(dir / "out");
  options.format = find_format("hdf5", "array");
  for (const char* size : {"big", "", "12px", "-1", "99999999999999999999999"}) {
    options.format_options = {{"size", size}};
    const auto plans = {preview_pack,
                        +[](const Source& from, const PackOptions& with) { return preview_plan(from, with, "x"); }};
    for (const auto& plan : plans) {
      const Error error = test::error_of([&] { plan(source, options); });
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(), ContainsSubstring("`size` is"));
    }
    CHECK(test::error_of([&] { plan_pack(source, options, dir / "a.plan"); }).code() == ErrorCode::invalid_argument);
  }
  CHECK_FALSE(fs::exists(dir / "a.plan"));
  CHECK_FALSE(fs::exists(dir / "out"));
}

TEST_CASE_METHOD(InTempDir, "a shuffled order is the same everywhere") {
  const FakeSource source(12);
  PackOptions options = small_shards(dir / "data");
  options.shuffle_seed = 42;
  packed(source, options);
  const Dataset dataset = Dataset::open(dir / "data");
  std::string order;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) order += std::string(dataset.key(i)).substr(7) + " ";
  CHECK(order == "0 7 6 11 9 10 5 8 3 1 2 4 ");
}

TEST_CASE_METHOD(InTempDir, "duplicate keys are refused before anything is written, naming both") {
  FakeSource source(20);
  source.key_of = [](std::uint64_t i) { return "key" + std::to_string(i == 17 ? 4 : i); };
  Progress progress;
  CHECK_THROWS_WITH(pack(source, small_shards(dir / "data"), progress),
                    ContainsSubstring("fake:4") && ContainsSubstring("fake:17"));
  CHECK_FALSE(fs::exists(dir / "data"));
}

TEST_CASE_METHOD(InTempDir, "a sample with a key, a field or a class that its source does not name is a bad one") {
  const auto refuses = [&](PackOptions options, const OddSource& source, const std::string& why) {
    Progress progress;
    const Error error = test::error_of([&] { pack(source, options, progress); });
    CHECK_THAT(error.what(), ContainsSubstring("fake:17") && ContainsSubstring(why));
    fs::remove_all(options.destination);
  };
  for (const Format* const format : formats()) {
    PackOptions options = small_shards(dir / std::string(format->name));
    if (format->layouts.empty()) continue;
    options.format = find_format(format->name);
    if (!options.format.layout->keeps_all_fields) continue;
    OddSource of_field(20), of_id(20), of_class(20), of_key(20), outside(20);
    of_key.key = "other";
    refuses(options, of_key, "its source calls it \"");
    outside.key = "../17";
    outside.key_of = [](std::uint64_t i) { return i == 17 ? "../17" : std::to_string(i); };
    if (options.format.layout->keys_name_files) refuses(options, outside, "a key that leads outside its directory");
    of_field.field = "txt";
    refuses(options, of_field, "a field \"txt\" that its source does not name");
    of_id.field_id = 3;
    refuses(options, of_id, "field 3 of a source that has 3");
    of_class.class_number = 4;
    refuses(options, of_class, "class 4 is none of the 4 that have names");
    options.on_error = OnError::skip;
    Progress progress;
    CHECK(pack(of_class, options, progress).skipped.size() == 1);
    CHECK(Dataset::open(options.destination).size() == 19);
  }
}

TEST_CASE("options that make no sense are usage errors") {
  const FakeSource source(20);
  Progress progress;
  const auto refused = [&](auto change) {
    PackOptions options = small_shards("never-made");
    change(options);
    return test::throws(ErrorCode::invalid_argument, [&] { pack(source, options, progress); });
  };
  CHECK(refused([](PackOptions& o) { o.splits = {{"a", 0.5}, {"b", 0.4}}; }));
  CHECK(refused([](PackOptions& o) { o.splits = {{"a", 0.5}, {"a", 0.5}}; }));
  CHECK(refused([](PackOptions& o) { o.splits = {{"a", 0.999}, {"b", 0.001}}; }));
  CHECK(refused([](PackOptions& o) { o.splits = {{"../a", 0.5}, {"b", 0.5}}; }));
  CHECK(refused([](PackOptions& o) { o.stratify = true; }));
  CHECK(refused([](PackOptions& o) { o.name = "a/b"; }));
  CHECK(refused([](PackOptions& o) { o.name = ".hidden"; }));
  CHECK(refused([](PackOptions& o) { o.splits = {{"a", std::numeric_limits<double>::quiet_NaN()}, {"b", 0.5}}; }));
  CHECK(refused([](PackOptions& o) { o.on_error = static_cast<OnError>(3); }));
  CHECK(refused([](PackOptions& o) { o.mode = static_cast<DestinationMode>(3); }));
}
