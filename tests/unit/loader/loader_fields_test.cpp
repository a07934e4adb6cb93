// Fields of batches: their places in the ring, and what a Loader delivers in them.
#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/random.hpp"
#include "bale/loader/ring/field_places.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"

using namespace bale;
using namespace bale::test;
using namespace bale::loader_detail;

namespace {

using Stored = std::vector<std::byte>;

LoaderOptions with_fields(unsigned workers, WorkerMode mode = WorkerMode::processes) {
  LoaderOptions options = small_batches(workers, mode);
  options.fields = {{.name = "stored", .source = "jpg"},
                    {.name = "label", .source = "cls", .kind = FieldKind::text},
                    {.name = "none", .source = "txt", .optional = true}};
  return options;
}

Stored copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

/// Every row has the fields of its sample, which are read again here.
void check_rows(const Loader& loader, const Batch& batch) {
  REQUIRE(batch.num_fields() == 3);
  Scratch scratch;
  const BatchField stored = batch.field("stored");
  REQUIRE(stored.offsets.size() == batch.size() + 1);
  REQUIRE(stored.offsets.front() == 0);
  REQUIRE(static_cast<std::size_t>(stored.offsets.back()) == stored.data.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool has_sample = stored.present[i] != 0;
    CHECK(batch.field("none").row(i).empty());
    CHECK(batch.field("none").present[i] == 0);
    CHECK((batch.mask()[i] == 0 || has_sample));
    if (!has_sample) {
      CHECK(stored.row(i).empty());
      continue;
    }
    const std::uint64_t sample = batch.samples()[i];
    CHECK(copy_of(stored.row(i)) == copy_of(loader.dataset().read_field(sample, "jpg", scratch)));
    CHECK(as_text(batch.field("label").row(i)) == std::to_string(loader.dataset().label(sample)));
  }
}

}  // namespace

TEST_CASE("Places of fields do not overlap") {
  constexpr std::uint64_t k_batch = 5;
  const std::vector<FieldRoom> rooms{{.is_ragged = false, .bytes = 7},
                                     {.is_ragged = true, .bytes = 33},
                                     {.is_ragged = false, .bytes = 0},
                                     {.is_ragged = true, .bytes = 0}};
  const FieldSlots places(rooms, k_batch);
  std::vector<std::byte> memory(places.total_bytes() + 64);
  void* start = memory.data();
  std::size_t room = memory.size();
  std::align(64, places.total_bytes(), start, room);
  const MutableBytes slot(static_cast<std::byte*>(start), places.total_bytes());
  std::vector<std::pair<const std::byte*, std::size_t>> parts;
  const auto add = [&](auto values) {
    parts.emplace_back(reinterpret_cast<const std::byte*>(values.data()), values.size_bytes());
  };
  for (std::size_t field = 0; field < rooms.size(); ++field) {
    add(places.present(slot, field));
    add(places.data(slot, field));
    if (!places.is_ragged(field)) continue;
    add(places.cells(slot, field));
    add(places.offsets(slot, field));
    CHECK(places.offsets(slot, field).size() == k_batch + 1);
  }
  std::sort(parts.begin(), parts.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::byte* const end = parts[i].first + parts[i].second;
    CHECK(end <= (i + 1 < parts.size() ? parts[i + 1].first : slot.data() + slot.size()));
  }
  CHECK(places.row(slot, 0, 4).data() == places.data(slot, 0).data() + 28);
}

TEST_CASE("Rows have the fields of their samples, from processes, threads and the caller") {
  const Pack pack(50);
  for (const auto& [workers, mode] : std::vector<std::pair<unsigned, WorkerMode>>{
           {0, WorkerMode::processes}, {2, WorkerMode::processes}, {2, WorkerMode::threads}}) {
    for (const Tail tail : {Tail::pad, Tail::uneven}) {
      LoaderOptions options = with_fields(workers, mode);
      options.tail = tail;
      options.rank = 2;
      options.world_size = 3;
      Loader loader(pack.path, options);
      while (const auto batch = loader.next()) check_rows(loader, *batch);
    }
  }
}

TEST_CASE("Fields of kept batches stay as they are, also in copies") {
  const Pack pack(60);
  Loader loader(pack.path, with_fields(2));
  std::vector<Batch> kept;
  while (auto batch = loader.next()) kept.push_back(*std::move(batch));
  CHECK(kept.back().is_copy());
  for (const Batch& batch : kept) check_rows(loader, batch);
}

TEST_CASE("Rows of skipped samples are empty, and the others stay in their places") {
  const Pack pack(40, {3, 11, 12, 30});
  LoaderOptions options = with_fields(2);
  options.on_bad_sample = OnBadSample::skip;
  Loader loader(pack.path, options);
  while (const auto batch = loader.next()) check_rows(loader, *batch);
  CHECK(loader.bad_samples().size() == 4);
  options.on_bad_sample = OnBadSample::substitute;
  Loader substituting(pack.path, options);
  while (const auto batch = substituting.next()) {
    check_rows(substituting, *batch);
    for (std::size_t i = 0; i < batch->size(); ++i) CHECK(batch->field("stored").present[i] == 1);
  }
}

TEST_CASE("Fields are the same after workers were killed at random moments") {
  const Pack pack(120);
  KeyedRandom random{3};
  Loader loader(pack.path, with_fields(3));
  loader.start();
  int kills = 0;
  while (kills < 20) {
    for (;;) {
      const auto pids = loader.worker_pids();
      if (!pids.empty() && random.below(3) == 0 && ::kill(pids[random.below(pids.size())], SIGKILL) == 0) ++kills;
      const auto batch = loader.next();
      if (!batch) break;
      check_rows(loader, *batch);
    }
  }
  CHECK(loader.bad_samples().empty());
}

TEST_CASE("Fields next to mixed images are those of the own sample, and partners are rows") {
  const Pack pack(43);
  LoaderOptions options = with_fields(2);
  options.transform.dtype = DType::float32;
  options.mix.mixup_alpha = 0.2;
  options.tail = Tail::uneven;
  Loader loader(pack.path, options);
  std::vector<Batch> kept;
  while (auto batch = loader.next()) kept.push_back(*std::move(batch));
  CHECK(kept.back().is_copy());
  for (const Batch& batch : kept) {
    check_rows(loader, batch);
    REQUIRE(batch.partners().size() == batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      CHECK(batch.partner_labels()[i] == batch.labels()[batch.partners()[i]]);
      CHECK((batch.mask()[i] != 0 || batch.partners()[i] == i));
    }
  }
}

TEST_CASE("The transform of each view has its number") {
  LoaderOptions options = small_batches(0);
  CHECK(options.num_views() == 1);
  options.further_views = {val_transform(24, 32), train_transform(16)};
  CHECK(options.num_views() == 3);
  CHECK(options.view(0).width == 32);
  CHECK(options.view(1).width == 24);
  CHECK(options.view(2).width == 16);
}

TEST_CASE("Fields that no sample has, and targets of mixed images, are refused") {
  const Pack pack(8);
  LoaderOptions options = with_fields(0);
  options.fields = {{.name = "a", .source = "txt"}};
  CHECK(error_of([&] { Loader(pack.path, options); }).code() == ErrorCode::invalid_argument);
  options = with_fields(0);
  options.transform.dtype = DType::float32;
  options.mix.mixup_alpha = 0.2;
  options.fields.push_back({.name = "target", .source = "jpg", .kind = FieldKind::mask});
  CHECK(error_of([&] { Loader(pack.path, options); }).code() == ErrorCode::invalid_argument);
  Loader loader(pack.path, with_fields(0));
  const auto batch = loader.next();
  CHECK(error_of([&] { batch->field("other"); }).code() == ErrorCode::invalid_argument);
}
