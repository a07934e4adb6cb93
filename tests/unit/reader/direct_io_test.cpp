// Reading around the page cache: the same bytes and errors in every format, and the choice by size.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/direct_file.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/files/read_limit.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/read_in_order.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/fake_source.hpp"
#include "bale/tests/support/pack_images.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;

namespace {

constexpr std::uint64_t k_size = 60;
constexpr std::uint64_t k_shard = 20;

class MemoryLimit {
 public:
  explicit MemoryLimit(const std::string& bytes) { ::setenv("BALE_MEMORY_BYTES", bytes.c_str(), 1); }
  ~MemoryLimit() { ::unsetenv("BALE_MEMORY_BYTES"); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

std::vector<std::string> formats_in_files() {
  std::vector<std::string> names;
  for (const Format* format : formats()) {
    if (!format->layouts.empty() && format->layouts.front().keeps_bytes) names.emplace_back(format->name);
  }
  return names;
}

/// Writes what is unwritten, and drops the files from the page cache.
void make_cold(const Dataset& dataset) {
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    const File file = File::open_update(dataset.shard_path(shard));
    REQUIRE(::fsync(file.fd()) == 0);
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

std::vector<SizedFile> files_of(const Dataset& dataset) {
  std::vector<SizedFile> files;
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    files.push_back({dataset.shard_path(shard), file_size(dataset.shard_path(shard)).value()});
  }
  return files;
}

/// Every sample as text, in stored order.
std::vector<std::string> texts_of(const Dataset& dataset) {
  std::vector<std::string> texts(dataset.size());
  Scratch scratch;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const SampleView sample = dataset.read(i, scratch);
    texts[i] = fmt::format("{} {}", sample.key, sample.label);
    for (const FieldView& field : sample.fields) texts[i] += fmt::format(" {}={}", field.name, as_text(field.bytes));
    for (const std::string& field : {std::string("jpg"), std::string("json")}) {
      texts[i] += as_text(dataset.read_field(i, field, scratch));
    }
  }
  return texts;
}

std::vector<std::string> shuffled_keys(const Dataset& dataset) {
  std::vector<std::string> keys;
  std::mutex mutex;
  const EpochOrder order(Selection::all(dataset.size()), Shuffle::full(), 3);
  read_in_order(dataset, order, 0, 2 * dataset.size(), {.jobs = 0}, [&](const SampleView& sample) {
    const std::lock_guard lock(mutex);
    keys.push_back(fmt::format("{} {}", sample.key, as_text(sample.find("jpg")->bytes)));
  });
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::optional<std::uint64_t> memory_with(const std::map<std::string, std::string>& files) {
  const test::TempDir root;
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  return available_memory(root.path());
}

}  // namespace

TEST_CASE_METHOD(test::InTempDir, "Samples that are read around the page cache are the same in every format") {
  for (const std::string& format : formats_in_files()) {
    INFO(format);
    const std::string path = test::pack_images(test::FakeSource(k_size), dir / format, format, k_shard);
    const Dataset cached = Dataset::open(path);
    const Dataset direct = Dataset::open(path, {.direct_io = true});
    const std::vector<std::string> expected = texts_of(cached);
    CHECK(texts_of(direct) == expected);
    CHECK(shuffled_keys(direct) == shuffled_keys(cached));
  }
}

TEST_CASE_METHOD(test::InTempDir, "A file that was cut short is the same error around the page cache and through it") {
  for (const std::string& format : formats_in_files()) {
    const std::string path = test::pack_images(test::FakeSource(k_size), dir / format, format, k_size);
    const Dataset cached = Dataset::open(path);
    const Dataset direct = Dataset::open(path, {.direct_io = true});
    Scratch scratch;
    cached.read(0, scratch);
    direct.read(0, scratch);
    for (const std::uint64_t bytes : {file_size(cached.shard_path(0)).value() / 2, std::uint64_t{0}}) {
      std::filesystem::resize_file(cached.shard_path(0), bytes);
      std::uint64_t refused = 0;
      for (std::uint64_t i = 0; i < k_size; ++i) {
        INFO(format << ", sample " << i << " of " << bytes << " bytes");
        const auto message = [&](const Dataset& dataset) -> std::string {
          try {
            dataset.read(i, scratch);
            return "";
          } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::changed);
            return error.context().key + error.message().substr(0, error.message().find(':'));
          }
        };
        const std::string expected = message(cached);
        REQUIRE(message(direct) == expected);
        refused += expected.empty() ? 0 : 1;
      }
      CHECK(refused > 0);
    }
  }
}

TEST_CASE_METHOD(test::InTempDir,
                 "A dataset that does not fit into memory and is not cached is read around the page cache") {
  const std::string path =
      test::pack_images(test::FakeSource(k_size), dir / "packed", formats().front()->name, k_shard);
  const Dataset cached = Dataset::open(path);
  CHECK(cached.options().direct_io == false);
  const std::vector<SizedFile> files = files_of(cached);
  std::uint64_t bytes = 0;
  for (const SizedFile& file : files) bytes += file.bytes;
  make_cold(cached);
  const auto part = cached_part(files);
  const bool can_be_direct = part == 0.0 && DirectFile::open(files.front().path).has_value();
  if (!can_be_direct) {
    WARN("this file system does not say what is cached, or has no reads around the page cache");
    return;
  }
  make_cold(cached);  // each look may bring pages into the cache
  CHECK(prefers_direct_io(files, bytes - 1));
  CHECK_FALSE(prefers_direct_io(files, bytes));
  CHECK_FALSE(prefers_direct_io(files, std::nullopt));
  const MemoryLimit limit(std::to_string(bytes - 1));
  make_cold(cached);
  const Dataset chosen = Dataset::open(path, {.direct_io = std::nullopt});
  CHECK(chosen.options().direct_io == true);
  CHECK(Dataset::open(path, {.direct_io = false}).options().direct_io == false);
  CHECK(Dataset::open(path).options().direct_io == false);
  CHECK(shuffled_keys(chosen) == shuffled_keys(cached));
  {
    const MemoryLimit enough(std::to_string(bytes));
    CHECK(Dataset::open(path, {.direct_io = std::nullopt}).options().direct_io == false);
  }
}

TEST_CASE_METHOD(test::InTempDir,
                 "What is cached already is read from the page cache, however little memory there is") {
  const std::string path =
      test::pack_images(test::FakeSource(k_size), dir / "packed", formats().front()->name, k_shard);
  const Dataset dataset = Dataset::open(path);
  const std::vector<SizedFile> files = files_of(dataset);
  for (const SizedFile& file : files) read_file(file.path);
  if (cached_part(files) != 1.0) {
    WARN("this file system does not say what is cached");
    return;
  }
  CHECK_FALSE(prefers_direct_io(files, 1));
}

TEST_CASE_METHOD(test::InTempDir, "Shards that cannot be read around the page cache are read ahead through it") {
  const std::string path = test::pack_images(test::FakeSource(k_size), dir / "packed", "tar.gz", k_shard);
  const MemoryLimit limit("1");
  make_cold(Dataset::open(path));
  CHECK(Dataset::open(path, {.direct_io = std::nullopt}).options().direct_io == false);
}

TEST_CASE_METHOD(test::InTempDir, "A memory limit that is not a number is refused") {
  const std::string path =
      test::pack_images(test::FakeSource(k_size), dir / "packed", formats().front()->name, k_shard);
  const MemoryLimit limit("much");
  const Error error = test::error_of([&] { Dataset::open(path, {.direct_io = std::nullopt}); });
  CHECK(error.code() == ErrorCode::invalid_argument);
  CHECK(error.message() == "BALE_MEMORY_BYTES is \"much\"");
  CHECK_NOTHROW(Dataset::open(path));
}

TEST_CASE("The memory that is available is the least that the machine and the control groups leave") {
  const std::string machine = "proc/meminfo";
  const std::string self = "proc/self/cgroup";
  const std::string groups = "sys/fs/cgroup/";
  const std::string kib = "MemTotal:  2000 kB\nMemAvailable:  1000 kB\n";
  CHECK_FALSE(memory_with({}));
  CHECK(memory_with({{machine, kib}}) == 1'024'000);
  // Version 2: files can be dropped, other memory cannot.
  CHECK(memory_with({{machine, kib},
                     {self, "0::/job\n"},
                     {groups + "job/memory.max", "500000\n"},
                     {groups + "job/memory.current", "300000\n"},
                     {groups + "job/memory.stat", "anon 200000\nactive_file 60000\ninactive_file 40000\n"}}) ==
        300'000);
  // A parent's limit; no limit of its own.
  CHECK(memory_with({{machine, kib},
                     {self, "0::/a/b\n"},
                     {groups + "a/b/memory.max", "max\n"},
                     {groups + "a/b/memory.current", "5\n"},
                     {groups + "a/memory.max", "1000\n"},
                     {groups + "a/memory.current", "4000\n"}}) == 0);
  // Version 1, whose groups without a limit have a very large one.
  CHECK(memory_with({{machine, kib},
                     {self, "4:memory:/job\n"},
                     {groups + "memory/memory.limit_in_bytes", "9223372036854771712\n"},
                     {groups + "memory/memory.usage_in_bytes", "100\n"},
                     {groups + "memory/job/memory.limit_in_bytes", "700000\n"},
                     {groups + "memory/job/memory.usage_in_bytes", "650000\n"},
                     {groups + "memory/job/memory.stat",
                      "active_file 1\ntotal_active_file 1000\ntotal_inactive_file 99000\n"}}) == 150'000);
}
