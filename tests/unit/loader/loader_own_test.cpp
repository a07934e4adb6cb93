// A decoder and a transform of the program's own.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"
#include "bale/writer/writer.hpp"

using namespace bale;
using namespace bale::test;

namespace {

/// 20 samples whose images are in a form of their own: one gray value. Sample 7 has none.
std::string pack_grays(const TempDir& dir) {
  Writer writer({.pack = {.destination = dir / "grays"}});
  for (int i = 0; i < 20; ++i) {
    const std::string value = i == 7 ? "" : std::string(1, static_cast<char>(10 * i));
    const std::vector<FieldView> fields{{.name = "gray1", .bytes = as_bytes(value)}};
    writer.add(std::to_string(100 + i), fields);
  }
  writer.close();
  return dir / "grays";
}

Bytes decode_gray(Bytes stored, std::vector<std::byte>& memory) {
  if (stored.empty()) throw Error(ErrorCode::io, "no gray value", {.path = "/of/the/program"});
  const std::string head = "P6\n40 30\n255\n";
  memory.assign(head.size() + std::size_t{40} * 30 * 3, stored[0]);
  std::ranges::copy(as_bytes(head), memory.begin());
  return memory;
}

LoaderOptions with_grays(unsigned workers) {
  LoaderOptions options = small_batches(workers, WorkerMode::threads);
  options.field = "gray1";
  options.own_decoder = decode_gray;
  options.on_bad_sample = OnBadSample::skip;
  return options;
}

/// Adds noise that depends on the row alone.
void add_noise(const RowPixels& row) {
  KeyedRandom random{row.key.seed, row.key.epoch, row.key.sample, row.key.copy, row.key.view};
  for (std::byte& value : row.pixels) value ^= static_cast<std::byte>(random.below(4));
}

}  // namespace

TEST_CASE("Images in a form of the program's own are decoded by it, and what it throws is a bad sample") {
  const TempDir dir;
  const std::string packed = pack_grays(dir);
  Loader loader(packed, with_grays(GENERATE(0u, 1u, 3u)));
  std::size_t rows = 0;
  for (const Batch& batch : loader) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::uint64_t sample = batch.samples()[i];
      if (batch.mask()[i] == 0) continue;
      ++rows;
      const auto is_gray = [&](std::byte value) { return value == static_cast<std::byte>(10 * sample); };
      CHECK(std::ranges::all_of(batch.image(i), is_gray));
      CHECK((batch.source_width(i) == 40 && batch.source_height(i) == 30));
    }
  }
  CHECK(rows == 19);
  REQUIRE(loader.bad_samples().size() == 1);
  CHECK(loader.bad_samples()[0].key == "107");
  CHECK_THAT(loader.bad_samples()[0].reason, ContainsSubstring("/of/the/program: no gray value"));
}

TEST_CASE(
    "A transform of the program's own sees each view of each row, and gives the same with any number of threads") {
  const Pack pack(40);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.further_views = {train_transform(16)};
  Loader plain(pack.path, options);
  std::atomic<int> wrong{0};
  options.own_transform = [&wrong](const RowPixels& row) {
    const std::uint32_t side = row.key.view == 0 ? 32 : 16;
    if (row.width != side || row.height != side || row.pixels.size() != std::size_t{side} * side * 3) ++wrong;
    add_noise(row);
  };
  std::vector<std::vector<std::uint64_t>> found;
  for (const unsigned workers : {0u, 1u, 3u}) {
    options.workers = workers;
    Loader loader(pack.path, options);
    found.push_back(rest_of_epoch(loader));
  }
  CHECK(wrong == 0);
  CHECK(found[0].size() == 5);
  CHECK(found[1] == found[0]);
  CHECK(found[2] == found[0]);
  CHECK(rest_of_epoch(plain) != found[0]);
  options.own_transform = [](const RowPixels& row) {
    if (row.key.sample == 5) throw std::runtime_error("no noise");
    if (row.key.sample == 7) throw 7;
  };
  options.workers = GENERATE(0u, 2u);
  options.on_bad_sample = OnBadSample::skip;
  Loader throws(pack.path, options);
  CHECK_THROWS_AS(rest_of_epoch(throws), int);
}

TEST_CASE("Functions of the program's own are refused if workers are other programs, and for raw transforms") {
  const Pack pack(8);
  const auto refuses = [&](LoaderOptions options, const char* why) {
    const Error error = error_of([&] { Loader(pack.path, options); });
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_THAT(error.what(), ContainsSubstring(why));
  };
  LoaderOptions options = small_batches(1, WorkerMode::processes);
  options.own_transform = add_noise;
  refuses(options, "worker_mode");
  options.worker_mode = WorkerMode::threads;
  options.transform = raw_transform();
  refuses(options, "raw()");
}
