// Shards and indexes that are not in use are dropped, and what is read stays the same.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "bale/formats/base/file.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/owned_sample.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/fake_source.hpp"
#include "bale/tests/support/pack_images.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_shards = 40;
constexpr std::uint64_t k_size = 2 * k_shards;
constexpr std::uint64_t k_prime = 37;  // takes samples out of order

/// So few descriptors that shards are closed, as with very many shards.
class FewDescriptors {
 public:
  FewDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    struct rlimit few = before_;
    few.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_ {};
};

struct Packed {
  test::TempDir dir;
  std::string path = test::pack_images(test::FakeSource(k_size), dir / "packed", formats().front()->name, 2);
};

std::string text_of(const Dataset& dataset, const SampleView& sample) {
  std::string text(sample.key);
  for (const FieldView& field : sample.fields)
    text += "|" + std::string(field.name) + "=" + std::string(as_text(field.bytes));
  return text + "|" + std::to_string(dataset.size());
}

std::vector<std::string> all_of(const Dataset& dataset) {
  std::vector<std::string> texts;
  Scratch scratch;
  for (std::uint64_t n = 0; n < k_size; ++n) {
    texts.push_back(text_of(dataset, dataset.read(n * k_prime % k_size, scratch)));
  }
  return texts;
}

/// A shard of `packed` that counts how often it is opened with and without an index.
struct Counted {
  explicit Counted(const std::string& path) : dataset(Dataset::open(path)) {}
  OpenShards::Open open() {
    return [this](std::size_t number, const Format* format, const std::shared_ptr<const ShardIndex>& index) {
      const std::string& path = dataset.shard_path(number);
      ++(index ? num_with_index : num_without);
      return index ? Shard::open(path, *format, index, {}) : open_shard(path);
    };
  }
  Dataset dataset;
  std::atomic<int> num_with_index{0};
  std::atomic<int> num_without{0};
};

}  // namespace

TEST_CASE("indexes beyond the budget are dropped and read again", "[open_shards]") {
  const Packed packed;
  const FewDescriptors few;
  Counted counted(packed.path);
  const OpenShards large(k_shards, counted.open());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t number = 0; number < k_shards; ++number) CHECK(large.use_index(number)->size() == 2);
  }
  CHECK(counted.num_without == static_cast<int>(k_shards));  // all fit into the budget: each is read once

  counted.num_without = 0;
  constexpr std::uint64_t k_budget = 10 << 10;  // at least 1 KiB each
  const OpenShards small(k_shards, counted.open(), k_budget);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t number = 0; number < k_shards; ++number) CHECK(small.use_index(number)->size() == 2);
  }
  CHECK(counted.num_without > static_cast<int>(2 * k_shards));
}

TEST_CASE("an index in use is not dropped", "[open_shards]") {
  const Packed packed;
  const FewDescriptors few;
  Counted counted(packed.path);
  const OpenShards shards(k_shards, counted.open(), 0);
  const IndexInUse held = shards.use_index(0);
  const std::string key(held->key(1));
  for (std::size_t number = 1; number < k_shards; ++number) CHECK(shards.use_index(number)->size() == 2);
  CHECK(held->key(1) == key);
  counted.num_without = 0;
  CHECK(&*shards.use_index(0) == &*held);
  CHECK(counted.num_without == 0);
}

TEST_CASE("a dataset without room for indexes reads the same", "[open_shards]") {
  const Packed packed;
  const std::vector<std::string> expected = all_of(Dataset::open(packed.path));
  const FewDescriptors few;
  const Dataset dataset = Dataset::open(packed.path, {.index_budget = 0});
  CHECK(all_of(dataset) == expected);
  for (std::uint64_t i = 0; i < k_size; ++i) CHECK(dataset.find(dataset.key(i)) == i);

  // What was read lives in the Scratch, whatever else is read in the meantime.
  Scratch scratch;
  const SampleView first = dataset.read(0, scratch);
  const std::string text = text_of(dataset, first);
  for (std::uint64_t i = 0; i < k_size; ++i) CHECK_FALSE(dataset.key(i).empty());
  CHECK(text_of(dataset, first) == text);

  std::vector<std::thread> threads;
  std::atomic<int> num_equal{0};
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] { num_equal += all_of(dataset) == expected ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(num_equal == 4);
}

TEST_CASE("an index that was dropped and is another one now is an error", "[open_shards]") {
  const Packed packed;
  const test::TempDir other_dir;
  const std::string other =
      test::pack_images(test::FakeSource(k_size + 20), other_dir / "packed", formats().front()->name, 3);
  const FewDescriptors few;
  Counted counted(packed.path);
  const Counted others(other);
  bool is_other = false;
  const OpenShards shards(
      k_shards,
      [&](std::size_t number, const Format*, const std::shared_ptr<const ShardIndex>&) {
        return open_shard((is_other && number == 0 ? others : counted).dataset.shard_path(number));
      },
      0);
  CHECK(shards.use_index(0)->size() == 2);
  for (std::size_t number = 1; number < k_shards; ++number) shards.use_index(number);
  is_other = true;
  try {
    shards.use_index(0);
    FAIL("another index was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::changed);
  }
}

TEST_CASE("a file that was written while it was closed is opened again if it has its digest", "[open_shards]") {
  const Packed packed;
  const FewDescriptors few;
  Counted counted(packed.path);
  const OpenShards shards(k_shards, counted.open());
  const std::string path = counted.dataset.shard_path(0);
  const auto open_others = [&] {
    for (std::size_t number = 1; number < k_shards; ++number) shards.use(number);
  };
  CHECK(shards.use(0)->size() == 2);
  open_others();
  std::vector<std::byte> bytes = read_file(path);
  write_durably(path, bytes);
  CHECK(shards.use(0)->size() == 2);
  open_others();
  bytes[bytes.size() / 2] ^= std::byte{1};
  write_durably(path, bytes);
  try {
    shards.use(0);
    FAIL("another file was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::changed);
  }
}

TEST_CASE("an open shard is compared with what its user holds, and its errors with the file", "[open_shards]") {
  const Packed packed;
  Counted counted(packed.path);
  const OpenShards shards(k_shards, counted.open());
  const ShardInUse shard = shards.use(0, shards.identity(0));
  const ShardIdentity other = shards.identity(1);
  try {
    shards.use(0, other);
    FAIL("another shard was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::changed);
  }
  const Error damaged(ErrorCode::damaged, "a checksum does not match", {.path = shard->path()});
  CHECK(shard->judged(damaged).code() == ErrorCode::damaged);
  write_durably(shard->path(), read_file(shard->path()));
  CHECK(shard->judged(damaged).code() == ErrorCode::changed);
}

TEST_CASE("a sample is read by its key in one call", "[open_shards]") {
  const Packed packed;
  const Dataset dataset = Dataset::open(packed.path);
  Scratch scratch;
  const std::string key = dataset.key(3);
  CHECK(dataset.read(key).fields.front().bytes == dataset.read(3).fields.front().bytes);
  CHECK(dataset.read(key, scratch).key == key);
  for (const bool owns : {false, true}) {
    const Error error =
        test::error_of([&] { owns ? (void)dataset.read("none") : (void)dataset.read("none", scratch); });
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(error.context().key == "none");
  }
}

TEST_CASE("counting in no known way is refused", "[open_shards]") {
  const Packed packed;
  CHECK(test::code_of([&] { Dataset::open(packed.path, {.counting = static_cast<Counting>(3)}); }) ==
        ErrorCode::invalid_argument);
}

TEST_CASE("an owned sample stays while its Scratch is used again", "[open_shards]") {
  const Packed packed;
  const Dataset dataset = Dataset::open(packed.path);
  Scratch scratch;
  const OwnedSample kept(dataset.read(3, scratch));
  dataset.read(4, scratch);
  const SampleView again = dataset.read(3, scratch);
  CHECK(kept.key == again.key);
  CHECK(kept.label == again.label);
  REQUIRE(kept.fields.size() == again.fields.size());
  for (const FieldView& field : again.fields) CHECK(std::ranges::equal(kept.find(field.name)->bytes, field.bytes));
  CHECK(kept.find("none") == nullptr);
  CHECK(kept["jpg"].data() == kept.find("jpg")->bytes.data());
  CHECK(again["jpg"].data() == again.find("jpg")->bytes.data());
  for (const bool owns : {false, true}) {
    const Error error = test::error_of([&] { owns ? (void)kept["none"] : (void)again["none"]; });
    CHECK(error.code() == ErrorCode::not_found);
    CHECK(error.context().key == kept.key);
  }
}

TEST_CASE("a dataset is a range of the standard library", "[open_shards]") {
  static_assert(std::ranges::input_range<const Dataset>);
  const Packed packed;
  const Dataset dataset = Dataset::open(packed.path);
  std::vector<std::string> keys;
  for (const OwnedSample& sample : dataset | std::views::drop(1) | std::views::take(2)) keys.push_back(sample.key);
  CHECK(keys == std::vector{dataset.key(1), dataset.key(2)});
}

}  // namespace bale
