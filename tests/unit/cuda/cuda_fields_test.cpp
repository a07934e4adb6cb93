// Fields of batches on a device: the host's, in memory that neither the slot nor the device's buffers keep.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "bale/tests/unit/cuda/cuda_support.hpp"

using namespace bale;
using namespace bale::test;
using cuda_detail::Context;
using fake_cuda::Pace;

namespace {

LoaderOptions with_fields(unsigned workers, WorkerMode mode = WorkerMode::processes) {
  LoaderOptions options = small_batches(workers, mode);
  options.transform = float_transform(DType::float16, PixelLayout::nchw);
  options.fields = {{.name = "stored", .source = "jpg"},
                    {.name = "label", .source = "cls", .kind = FieldKind::text},
                    {.name = "none", .source = "txt", .optional = true}};
  return options;
}

/// All fields of a batch, each a list of rows.
template <typename AnyBatch>
std::vector<std::vector<std::byte>> rows_of(const AnyBatch& batch) {
  std::vector<std::vector<std::byte>> rows;
  for (std::size_t field = 0; field < batch.num_fields(); ++field) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Bytes row = batch.field(field).row(i);
      rows.emplace_back(row.begin(), row.end());
      rows.back().push_back(std::byte{batch.field(field).present[i]});
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("Fields of batches on a device are those of the host") {
  const Pack pack(50);
  for (const auto& [workers, mode] : std::vector<std::pair<unsigned, WorkerMode>>{
           {0, WorkerMode::processes}, {2, WorkerMode::processes}, {2, WorkerMode::threads}}) {
    LoaderOptions options = with_fields(workers, mode);
    options.tail = Tail::uneven;  // with empty rows
    options.world_size = 3;
    options.rank = 2;
    for (const Pace pace : {Pace::when_asked, Pace::thread, Pace::late}) {
      const FakeDevice device(pace);
      Loader host(pack.path, options);
      CudaLoader loader(pack.path, options, {.depth = 3, .hold = 1});
      Trainer trainer(Context::open(0));
      for (int epoch = 0; epoch < 2; ++epoch) {
        while (const auto expected = host.next()) {
          const auto batch = loader.next(trainer.stream());
          REQUIRE(batch);
          trainer.step(*batch);
          CHECK(batch->partners().empty());
          CHECK(rows_of(*batch) == rows_of(*expected));
          CHECK(as_text(batch->field("label").row(0)) == as_text(expected->field("label").row(0)));
        }
        CHECK(!loader.next(trainer.stream()));
      }
    }
  }
}

TEST_CASE("Fields keep neither slots nor memory of the device") {
  const Pack pack(60);
  const FakeDevice device;
  std::vector<std::shared_ptr<const void>> kept;
  std::vector<BatchField> fields;
  std::vector<std::vector<std::byte>> expected;
  {
    LoaderOptions options = with_fields(2);
    options.prefetch = 2;
    CudaLoader loader(pack.path, options, {.depth = 1, .hold = 1});
    while (const auto batch = loader.next()) {
      kept.push_back(batch->field_memory());
      fields.push_back(batch->field("stored"));
      expected.emplace_back(fields.back().data.begin(), fields.back().data.end());
    }
    CHECK(loader.counters().batches_beyond_hold == 0);
  }
  CHECK(fake_cuda::live() == fake_cuda::Live{});
  CHECK(fields.size() == 8);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    CHECK(std::equal(fields[i].data.begin(), fields[i].data.end(), expected[i].begin(), expected[i].end()));
  }
}

TEST_CASE("Partners of images that a device mixes are the host's, and fields are those of the own sample") {
  const Pack pack(43, {3, 11});
  LoaderOptions options = with_fields(2);
  options.on_bad_sample = OnBadSample::skip;
  LoaderOptions mixed = options;
  mixed.mix.mixup_alpha = 0.5;
  Loader host(pack.path, mixed);
  const FakeDevice device;
  CudaLoader loader(pack.path, options, {.mix = mixed.mix});
  while (const auto expected = host.next()) {
    const auto batch = loader.next();
    REQUIRE(batch);
    CHECK(std::equal(batch->partners().begin(), batch->partners().end(), expected->partners().begin(),
                     expected->partners().end()));
    CHECK(rows_of(*batch) == rows_of(*expected));
  }
}

TEST_CASE("Targets cannot follow images that a device changes") {
  const Pack pack(8);
  const FakeDevice device;
  LoaderOptions options = with_fields(0);
  options.transform = without_flips(options.transform);
  options.fields.push_back({.name = "target", .source = "jpg", .kind = FieldKind::boxes});
  CudaOptions mixing;
  mixing.mix.mixup_alpha = 0.5;
  for (const CudaOptions& cuda : {mixing, CudaOptions{.flip_probability = 0.5}}) {
    const Error error = error_of([&] { CudaLoader(pack.path, options, cuda); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(error.message().find("cannot follow images that the device mirrors or mixes") != std::string::npos);
  }
  CHECK_NOTHROW(CudaLoader(pack.path, options));
  const auto batch = CudaLoader(pack.path, with_fields(0)).next();
  CHECK(error_of([&] { batch->field("other"); }).code() == ErrorCode::invalid_argument);
}
