// Edit: several changes of a dataset that are one version or none.
#include <filesystem>
#include <string>

#include "bale/formats/base/file.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/version.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/writer/edit.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using bale::test::error_of;
using bale::test::InTempDir;
namespace fs = std::filesystem;

namespace {

/// Samples "0" to "5", or from `first` on, of the classes a and b in turn, two in a shard.
std::string pack_six(const std::string& out, int first = 0) {
  Writer::Options options{.pack = {.destination = out, .format = find_format("tar")}, .classes = {"a", "b"}};
  options.pack.sizing.shard_samples = 2;
  Writer writer(std::move(options));
  const FieldView image{"ppm", as_bytes("P6\n2 3\n255\nxxxxxxxxxxxxxxxxxx")};
  for (int i = first; i < first + 6; ++i) writer.add(std::to_string(i), {&image, 1}, i % 2);
  writer.close();
  return out;
}

std::string text_of(const Dataset& dataset, const std::string& key, const std::string& field) {
  const OwnedSample sample = dataset.read(key);
  for (const OwnedSample::Field& found : sample.fields) {
    if (found.name == field) return std::string(as_text(found.bytes));
  }
  return "none";
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "an edit is one version, with what its changes one after the other make") {
  const std::string out = pack_six(dir / "out");
  const std::string labels = dir / "labels.csv";
  const std::string scores = dir / "scores.csv";
  const std::string others = dir / "others.csv";
  write_durably(labels, as_bytes("key,label\n1,a\n2,b\n"));
  write_durably(scores, as_bytes("key,score\n1,7\n2,8\n3,9\n"));
  write_durably(others, as_bytes("key,score\n2,88\n"));
  const std::string manifest(as_text(read_file(out + "/manifest.json")));
  Progress progress;

  Edit edit(out);
  CHECK(edit.is_empty());
  CHECK(edit.set_labels({.table = labels}, progress).num_samples == 2);
  CHECK(edit.set_field({.field = "score.txt", .from = scores}, progress).num_shards == 2);
  CHECK(edit.set_field({.field = "score.txt", .from = others}, progress).num_samples == 1);
  const ChangeReport removed = edit.remove({.keys = {"1", "4"}}, progress);
  CHECK((removed.num_left == 4 && removed.version.empty()));
  CHECK(error_of([&] { edit.set_labels({.table = labels}, progress); }).code() == ErrorCode::not_found);
  CHECK(as_text(read_file(out + "/manifest.json")) == manifest);
  CHECK_FALSE(fs::exists(out + "/layers"));

  const ChangeReport report = edit.publish("week 48", progress);
  CHECK(report.verb == "set label, set score.txt, remove");
  CHECK((report.num_samples == 7 && report.num_left == 4 && report.num_shards == 3));
  CHECK(error_of([&] { edit.publish("", progress); }).code() == ErrorCode::invalid_argument);
  const Dataset dataset = Dataset::open(out);
  CHECK((dataset.version() == report.version && dataset.size() == 4));
  CHECK((dataset.read("2").label == 1 && text_of(dataset, "2", "score.txt") == "88"));
  CHECK((text_of(dataset, "3", "score.txt") == "9" && text_of(dataset, "0", "score.txt") == "none"));
  const std::vector<DatasetVersion> versions = dataset_versions(out, {});
  REQUIRE(versions.size() == 2);
  CHECK((versions.front().change.verb == report.verb && versions.front().change.message == "week 48"));
  CHECK(Dataset::open(out, {.version = report.parent}).size() == 6);
}

TEST_CASE_METHOD(InTempDir, "an edit adds samples in the version of its other changes") {
  const std::string out = pack_six(dir / "out");
  const std::string more = pack_six(dir / "more", 6);
  Progress progress;
  Edit edit(out);
  const PackOptions options = options_to_add({.destination = out, .sizing = {.shard_samples = 3}});
  const AddRules again{.allow_removed = true};  // all have the same image
  edit.remove({.keys = {"5"}}, progress);
  CHECK(error_of([&] { edit.add(open_packed_source(more, {}), options, {}, progress); }).code() ==
        ErrorCode::invalid_argument);
  const ChangeReport planned = edit.add(open_packed_source(more, {}), options, again, progress);
  CHECK((planned.num_samples == 6 && planned.num_shards == 2 && planned.num_left == 11 && planned.added));
  CHECK_FALSE(edit.is_empty());
  CHECK(error_of([&] { edit.remove({.keys = {"7"}}, progress); }).code() == ErrorCode::not_found);
  CHECK(error_of([&] { edit.add(open_packed_source(more, {}), options, again, progress); }).code() ==
        ErrorCode::invalid_argument);
  edit.remove({.keys = {"0"}}, progress);

  const ChangeReport report = edit.publish("week 48", progress);
  CHECK((report.verb == "remove, add" && report.num_samples == 8 && report.num_left == 10));
  CHECK((report.added && report.added->num_samples == 6 && report.added->added->version == report.version));
  const Dataset dataset = Dataset::open(out);
  CHECK((dataset.version() == report.version && dataset.size() == 10 && dataset.read("11").label == 1));
  CHECK(Dataset::open(out, {.version = report.parent}).size() == 6);
  CHECK(dataset_versions(out, {}).size() == 2);
}

TEST_CASE_METHOD(InTempDir, "an edit without publish() changes nothing, and of two the first is published") {
  const std::string out = pack_six(dir / "out");
  Progress progress;
  Edit first(out);
  Edit second(out);
  {
    Edit forgotten(out);
    forgotten.remove({.keys = {"0"}}, progress);
  }
  CHECK_FALSE(fs::exists(out + "/layers"));
  first.remove({.keys = {"0"}}, progress);
  second.remove({.keys = {"1"}}, progress);
  const std::string version = first.publish("", progress).version;
  CHECK(error_of([&] { second.publish("", progress); }).code() == ErrorCode::retryable);
  CHECK(Dataset::open(out).version() == version);
  CHECK_FALSE(fs::exists(out + "/.bale-partial"));
  CHECK(error_of([&] { Edit(dir / "none"); }).code() == ErrorCode::not_found);
}
