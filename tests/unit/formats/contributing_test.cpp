// The C++ of docs/CONTRIBUTING.md, in its order.
#include "contributing_examples.hpp"

#include <cstdlib>
#include <filesystem>

#include "bale/formats/shard/shard.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tests/unit/formats/format_support.hpp"

using namespace bale;
using bale::test::InTempDir;

namespace {

std::string record(std::string_view bytes, std::int32_t label) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 4);
  std::memcpy(text.data() + 4, &label, 4);
  return text.append(bytes);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "The format of the example is scanned, read and verified") {
  const std::string content =
      std::string(rec2::k_signature) + record("first", 3) + record("", 0) + record("second", -1);
  test::spit(dir / "a.rec2", content);
  CHECK(rec2::probe({.path = "a", .head = as_bytes(content), .file_bytes = content.size()}) == 100);
  const Shard shard = Shard::open(dir / "a.rec2", rec2::k_format, scan_shard(dir / "a.rec2", rec2::k_format));
  REQUIRE(shard.index().size() == 3);
  Scratch scratch;
  CHECK(shard.read(0, scratch).label == 3);
  CHECK(as_text(shard.read_field(2, "jpg", scratch)) == "second");
  for (std::size_t length = rec2::k_signature.size() + 1; length < content.size(); ++length) {
    test::spit(dir / "cut.rec2", content.substr(0, length));
    IndexBuilder builder;
    const auto error = test::thrown_by([&] { rec2::scan(dir / "cut.rec2", builder); });
    const bool is_end_of_a_record = length == content.size() - 14 || length == content.size() - 22;
    CHECK((!error) == is_end_of_a_record);
  }
}

TEST_CASE_METHOD(InTempDir, "The source of the example is packed") {
  CHECK(pack_drawings(dir / "packed").num_samples == 100);
  const Dataset dataset = Dataset::open(dir / "packed");
  Scratch scratch;
  const SampleView sample = dataset.read(7, scratch);
  CHECK(sample.key == "drawn-7");
  CHECK(sample.label == 1);
  CHECK(as_text(sample.find("txt")->bytes) == "a picture of the number 7");
  CHECK(dataset.classes() == std::vector<std::string>{"even", "odd"});
}

TEST_CASE("The labels of the example get numbers and names") {
  Labels labels{SourceOptions{}};
  CHECK(labels_of_names({"0001_dog", "0002_cat", "0003_dog"}, labels) == std::vector<std::int64_t>{1, 0, 1});
  CHECK(labels.classes() == std::vector<std::string>{"cat", "dog"});
}

TEST_CASE_METHOD(InTempDir, "The scheme of the example is read as a dataset") {
  ::setenv("BALE_CACHE_DIR", (dir / "cache").c_str(), 1);
  pack_drawings(dir / "packed");
  static Store store;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "packed")) {
    store["store://train/" + entry.path().filename().string()] = as_text(read_file(entry.path()));
  }
  add_store(store);
  const Dataset dataset = Dataset::open("store://train");
  CHECK(dataset.size() == 100);
  Scratch scratch;
  CHECK(as_text(dataset.read(42, scratch).find("txt")->bytes) == "a picture of the number 42");
}

TEST_CASE("The options of the example are taken, stored and named") {
  CropOptions options;
  const OptionTable table = crop_table(options);
  const OptionModel& crop = table.front();
  CHECK((crop.keyword() == "crop" && crop.long_name == "--crop" && crop.type == "int" && crop.is_fingerprinted));
  CHECK_FALSE(crop.is_given());
  take_options(table, {{"crop", {"3"}}, {"mirror", {}}});
  CHECK((options.crop == 3 && options.mirror && crop.is_given()));
  CHECK(crop.save().dump() == "3");
  crop.load(parse_json("4"));
  CHECK(options.crop == 4);
  CHECK(option_names(table, true).shown("Mirror images, after `crop`") == "Mirror images, after --crop");
  const auto message = [&](const std::vector<GivenOption>& given) {
    const auto error = test::thrown_by([&] { take_options(table, given); });
    return error ? option_names(table, false).shown(*error).message() : std::string();
  };
  CHECK(message({{"crop", {"0"}}}) == "crop: \"0\" is not a whole number of at least 1 and below 2^32");
  CHECK(message({{"mirror", {"yes"}}}) == "mirror takes True or False");
  CHECK(message({{"crops", {"1"}}}) == "there is no option crops");
}
