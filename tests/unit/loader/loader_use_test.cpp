// How programs use the API: options left out, relative names, numbers that are out of range, objects that were moved
// from, and errors that say where.
#include <algorithm>
#include <cfenv>
#include <filesystem>
#include <limits>
#include <optional>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using namespace bale::test;
namespace fs = std::filesystem;

namespace {

class InOtherDirectory {
 public:
  explicit InOtherDirectory(const fs::path& there) : before_(fs::current_path()) { fs::current_path(there); }
  ~InOtherDirectory() { fs::current_path(before_); }

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("Without a format, samples are packed as tar") {
  const TempDir dir;
  const ImageSource images(4, {});
  Progress progress;
  const PackReport report = pack(images, {.destination = dir / "packed"}, progress);
  CHECK(report.outputs.at(0).manifest.format == "tar");
  CHECK(preview_pack(images, {.destination = dir / "other"}).shards.size() == 1);
  Writer writer({.pack = {.destination = dir / "written"}});
  Scratch scratch;
  writer.add("a", images.read(0, scratch).fields);
  CHECK(writer.close().outputs.at(0).manifest.format == "tar");
  for (const FormatAndLayout none : {FormatAndLayout{}, FormatAndLayout{find_format("tar").format, nullptr}}) {
    CHECK(error_of([&] { pack(images, {.destination = dir / "no", .format = none}, progress); }).code() ==
          ErrorCode::invalid_argument);
    CHECK(error_of([&] { Writer({.pack = {.destination = dir / "no", .format = none}}); }).code() ==
          ErrorCode::invalid_argument);
  }
}

TEST_CASE("Relative names mean the same after chdir()") {
  const Pack pack(20);
  const std::string shard = fs::path(Dataset::open(pack.path).shard_path(0)).filename().string();
  for (const char* const here : {"plain", "x[1]*{a,b}", "a\\b"}) {
    fs::create_directory(pack.dir / here);
    fs::create_directory_symlink(pack.path, pack.dir / here + "/packed");
    for (const std::string& spec :
         {std::string("packed"), std::string("./packed/*.tar"), "packed/{" + shard + "," + shard + "}::packed"}) {
      std::optional<Dataset> dataset;
      std::optional<Loader> loader;
      {
        const InOtherDirectory there(fs::path(pack.dir / here));
        dataset = Dataset::open(spec);
        loader.emplace(spec, small_batches(1));
      }
      Scratch scratch;
      CHECK(dataset->read(dataset->size() - 1, scratch).label >= 0);
      CHECK(dataset->shard_path(0).starts_with('/'));
      CHECK(loader->next()->size() == 8);
    }
  }
}

TEST_CASE("A Writer writes where it was made to, whatever the current directory is later") {
  const TempDir dir;
  fs::create_directory(dir / "other");
  const ImageSource images(2, {});
  std::optional<Writer> writer;
  {
    const InOtherDirectory there(fs::path(dir / "."));
    writer.emplace(Writer::Options{.pack = {.destination = "packed"}});
  }
  const InOtherDirectory there(fs::path(dir / "other"));
  Scratch scratch;
  writer->add("a", images.read(0, scratch).fields);
  writer->checkpoint();
  writer->add("b", images.read(1, scratch).fields);
  writer->close();
  CHECK(Dataset::open(dir / "packed").size() == 2);
  CHECK(fs::is_empty(dir / "other"));
}

TEST_CASE("Numbers that are out of range, and objects that were moved from, are refused") {
  const Pack pack(20);
  const auto refuses = [](const auto& call) { CHECK(error_of(call).code() == ErrorCode::invalid_argument); };
  for (const bool copied : {false, true}) {
    LoaderOptions options = small_batches(0);
    options.prefetch = 3;
    Loader loader(pack.path, options);
    std::vector<Batch> kept;
    while (!copied || kept.empty() || !kept.back().is_copy()) {
      kept.push_back(*loader.next());
      if (!copied) break;
    }
    Batch& batch = kept.back();
    CHECK(batch.is_copy() == copied);
    for (const std::size_t row : {batch.size(), std::size_t{1000}, ~std::size_t{0}}) {
      refuses([&] { batch.image(row); });
      refuses([&] { batch.width(row); });
      refuses([&] { batch.height(row); });
      refuses([&] { batch.draw_key(row); });
      refuses([&] { batch.source(row); });
      refuses([&] { batch.steps(row); });
      refuses([&] { batch.source_width(row); });
      refuses([&] { batch.source_height(row); });
    }
    refuses([&] { batch.pixels(1); });
    refuses([&] { batch.pixels(3); });
    refuses([&] { batch.steps(0, 1); });
    refuses([&] { batch.field(std::size_t{0}); });
    CHECK(batch.pixels_as<std::uint8_t>().size() == batch.pixels().size());
    refuses([&] { batch.pixels_as<float>(); });
    refuses([&] { batch.pixels_as<std::uint16_t>(); });
    refuses([&] { batch.pixels_as<std::uint8_t>(1); });
    const Batch taken = std::move(batch);
    CHECK(taken.size() > 0);
    refuses([&] { batch.size(); });
    refuses([&] { batch.labels(); });
    refuses([&] { batch.image(0); });
    kept.clear();
    const Loader moved = std::move(loader);
    CHECK(moved.epoch() == 0);
    refuses([&] { (void)loader.next(); });
    refuses([&] { loader.state(); });
    refuses([&] { loader.dataset(); });
  }
  Dataset dataset = Dataset::open(pack.path);
  for (const std::size_t shard : {dataset.num_shards(), std::size_t{9}, ~std::size_t{0}}) {
    refuses([&] { dataset.shard_size(shard); });
    refuses([&] { dataset.shard_path(shard); });
    refuses([&] { dataset.shard(shard); });
    refuses([&] { dataset.use_index(shard); });
    refuses([&] { dataset.expected_digest(shard); });
    refuses([&] { dataset.label_in_shard(shard, 0); });
  }
  refuses([&] { dataset.label_in_shard(0, 20); });
  const Dataset moved = std::move(dataset);
  CHECK(moved.size() == 20);
  refuses([&] { dataset.size(); });
  refuses([&] { dataset.classes(); });
  refuses([&] { dataset.key(0); });
}

TEST_CASE("Pixels of each view come as values of its type only") {
  const Pack pack(8);
  LoaderOptions options = small_batches(0);
  options.transform.dtype = DType::float32;
  options.further_views = {train_transform(16)};
  options.further_views[0].dtype = DType::float16;
  Loader loader(pack.path, options);
  const auto batch = loader.next();
  CHECK(batch->pixels_as<float>().size() == 8 * 32 * 32 * 3);
  CHECK(batch->pixels_as<std::uint16_t>(1).size() == 8 * 16 * 16 * 3);
  CHECK(error_of([&] { batch->pixels_as<float>(1); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([&] { batch->pixels_as<std::int32_t>(); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE("The error of a bad sample says where it is, also outside of its text") {
  const Pack pack(20, {7});
  const auto mode = GENERATE(WorkerMode::processes, WorkerMode::threads);
  LoaderOptions options = small_batches(GENERATE(0u, 2u), mode);
  options.shuffle = Shuffle::none();
  options.on_bad_sample = OnBadSample::fail;
  Loader loader(pack.path, options);
  const Error error = error_of([&] {
    while (loader.next()) {
    }
  });
  CHECK(error.code() == ErrorCode::unsupported);
  CHECK(error.context().path == loader.dataset().shard_path(0));
  CHECK(error.context().key == loader.dataset().key(7));
  CHECK_THAT(error.context().hint, ContainsSubstring("on_bad_sample"));
  CHECK(error.message().find(error.context().path) == std::string::npos);
  CHECK(std::string(error.what()).starts_with(error.context().path + ": " + error.message()));
}

TEST_CASE("A dataset without images is refused when the loader is made") {
  const TempDir dir;
  Writer writer({.pack = {.destination = dir / "packed"}});
  const std::string text = "words";
  writer.add("a", std::vector<FieldView>{{.name = "txt", .bytes = as_bytes(text)}});
  writer.close();
  const Error error = error_of([&] { Loader(dir / "packed", small_batches(1)); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(std::string(error.what()).find("skip") == std::string::npos);
}

TEST_CASE("An image above max_pixels is unsupported, whoever is asked") {
  const Pack pack(8);
  Scratch scratch;
  const Dataset dataset = Dataset::open(pack.path);
  const Bytes image = dataset.read(0, scratch).find_image()->bytes;
  CHECK(error_of([&] { decode_image(image, 10); }).code() == ErrorCode::unsupported);
  CHECK_FALSE(check_image(image, ImageCheck::decode, 10).is_supported);
  const auto mode = GENERATE(WorkerMode::processes, WorkerMode::threads);
  LoaderOptions options = small_batches(GENERATE(0u, 2u), mode);
  options.max_pixels = 10;
  Loader loader(pack.path, options);
  CHECK(error_of([&] { (void)loader.next(); }).code() == ErrorCode::unsupported);
}

TEST_CASE("The caller's rounding changes no pixel and is left as it was") {
  const Pack pack(24);
  const auto digests = [&](unsigned workers, WorkerMode mode, int rounding) {
    LoaderOptions options = small_batches(workers, mode);
    options.transform.dtype = DType::float32;
    Loader loader(pack.path, options);
    std::fesetround(rounding);
    const auto found = rest_of_epoch(loader);
    CHECK(std::fegetround() == rounding);
    std::fesetround(FE_TONEAREST);
    return found;
  };
  const auto expected = digests(2, WorkerMode::processes, FE_TONEAREST);
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    CHECK(digests(2, WorkerMode::threads, rounding) == expected);
    CHECK(digests(0, WorkerMode::threads, rounding) == expected);
    CHECK(digests(2, WorkerMode::processes, rounding) == expected);
  }
}

TEST_CASE("Times that are none, and numbers that are none of their enumeration, are refused") {
  const Pack pack(8);
  const auto refuses = [&](const auto& change) {
    LoaderOptions options = small_batches(0);
    change(options);
    CHECK(error_of([&] { Loader(pack.path, options); }).code() == ErrorCode::invalid_argument);
  };
  for (const double time : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    refuses([&](LoaderOptions& options) { options.stall_timeout_s = time; });
    refuses([&](LoaderOptions& options) { options.storage_timeout_s = time; });
  }
  refuses([](LoaderOptions& options) { options.worker_mode = static_cast<WorkerMode>(2); });
  refuses([](LoaderOptions& options) { options.on_bad_sample = static_cast<OnBadSample>(3); });
  refuses([](LoaderOptions& options) { options.tail = static_cast<Tail>(3); });
  refuses([](LoaderOptions& options) { options.shuffle.kind = static_cast<Shuffle::Kind>(5); });
}

TEST_CASE("Batches that do not fit into memory are refused when the loader is made") {
  const Pack pack(8);
  LoaderOptions options = small_batches(1);
  options.transform = train_transform(2048);
  options.batch_size = 1024;
  options.prefetch = 16;
  const Error error = error_of([&] { Loader(pack.path, options); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  CHECK(error.context().hint.find("prefetch") != std::string::npos);
}

TEST_CASE("A loop over a Loader is an epoch, and continues one that was left") {
  const Pack pack(40);
  Loader expected(pack.path, small_batches(2, WorkerMode::threads));
  const auto digests = epochs(expected, 2);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.prefetch = 3;
  options.copy_when_held = false;  // so a loop holds one batch at most
  Loader loader(pack.path, options);
  std::vector<std::uint64_t> found;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : loader) {
      found.push_back(digest(batch));
      if (found.size() == 2) break;
    }
    if (epoch == 0) {
      for (const Batch& batch : loader) found.push_back(digest(batch));
    }
  }
  CHECK(found == digests);
  CHECK(loader.counters().batches_copied == 0);
}

TEST_CASE("Samples that own their memory, from a loop and from many threads") {
  const Pack pack(45, {}, 10);
  const Dataset dataset = Dataset::open(pack.path);
  const auto equals = [&](const OwnedSample& sample, std::uint64_t i) {
    Scratch scratch;
    const SampleView view = dataset.read(i, scratch);
    REQUIRE(sample.key == view.key);
    REQUIRE(sample.label == view.label);
    REQUIRE(sample.fields.size() == view.fields.size());
    for (const FieldView& field : view.fields) CHECK(std::ranges::equal(sample.find(field.name)->bytes, field.bytes));
  };
  std::vector<OwnedSample> kept;
  for (OwnedSample sample : dataset) kept.push_back(std::move(sample));
  REQUIRE(kept.size() == 45);
  for (std::uint64_t i = 0; i < 45; ++i) equals(kept[i], i);
  const std::vector<std::uint64_t> indices{44, 3, 17, 3, 0, 29};
  for (const unsigned threads : {0u, 1u, 4u}) {
    const std::vector<OwnedSample> many = dataset.read_many(indices, threads);
    REQUIRE(many.size() == indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) equals(many[i], indices[i]);
  }
  CHECK(dataset.read_many({}).empty());
  const std::vector<std::uint64_t> beyond{0, 45};
  CHECK(error_of([&] { dataset.read_many(beyond); }).code() == ErrorCode::invalid_argument);
}

TEST_CASE("A state is the same after it was text, and what is not a state is refused") {
  const Pack pack(40);
  Loader loader(pack.path, small_batches(1, WorkerMode::threads));
  (void)loader.next();
  const LoaderState within = loader.state();
  CHECK(LoaderState::from_json(within.to_json()) == within);
  CHECK_THAT(within.to_json(), ContainsSubstring("\"dataset\":\"" + loader.dataset().version() + '"'));
  const LoaderState passes{.epoch = 7 | std::uint64_t{3} << 40,
                           .position = 5,
                           .fingerprint = (std::uint64_t{1} << 63) - 1,
                           .nodes = {.count = 2, .ranks = 4},
                           .shards = 3,
                           .content = (std::uint64_t{1} << 63) - 1};
  CHECK(LoaderState::from_json(passes.to_json()) == passes);
  const auto read = [](const std::string& members) {
    return LoaderState::from_json(R"({"version": 1, "fingerprint": 9, )" + members + "}");
  };
  // Python's: the second pass of epoch 4; the end of that pass; another dictionary in it.
  CHECK(read(R"("epoch": 4, "pass": 1, "position": 8)").epoch == (5 | std::uint64_t{1} << 40));
  CHECK(read(R"("epoch": 5, "pass": 0, "passes_before": 1, "position": 0)").epoch == (5 | std::uint64_t{1} << 40));
  CHECK(read(R"("epoch": 4, "position": 8, "mixture": {"a": [1]})").position == 8);
  for (const char* const none :
       {R"("epoch": 4)", R"("epoch": -1, "position": 0)", R"("epoch": 1099511627776, "position": 0)",
        R"("epoch": 4, "position": 0, "worker": 1)", R"("epoch": 4, "position": 0, "dataset": "x")",
        R"("epoch": 4, "position": 0, "dataset": "11112222333344445")", R"("epoch": 0, "position": 0, "version": 2)"}) {
    CHECK(error_of([&] { read(none); }).code() == ErrorCode::invalid_argument);
  }
  for (const char* const none : {"", "{}", "[]", "7", "{\"version\": 1"}) {
    CHECK(error_of([&] { LoaderState::from_json(none); }).code() == ErrorCode::invalid_argument);
  }
}
