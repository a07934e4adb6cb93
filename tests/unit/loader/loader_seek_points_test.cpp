// Seek points next to the shards: the same batches with them and without, used where they are the images' own and
// ignored where they are not.
#include <filesystem>

#include "bale/formats/base/error.hpp"
#include "bale/formats/image/jpeg/decode/baseline_decoder.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/loader/worker/seek_point_cache.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"
#include "bale/writer/index/add_indexes.hpp"

using namespace bale;
using namespace bale::test;
using bale::image_detail::seek_count;
using bale::loader_detail::SeekPointCache;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t k_num_images = 40;

/// Batches of an epoch and no more: a loader that is asked for what follows begins the next one, and decodes for it.
std::vector<std::uint64_t> one_epoch(Loader& loader) {
  std::vector<std::uint64_t> digests;
  for (std::uint64_t n = 0; n < loader.size(); ++n) digests.push_back(digest(loader.next().value()));
  return digests;
}

/// Batches of an epoch, made by threads of this process, and how many images were begun in the middle.
struct Epoch {
  explicit Epoch(const std::string& path, bool verify_checksums = true) {
    LoaderOptions options = small_batches(2, WorkerMode::threads);
    options.verify_checksums = verify_checksums;
    options.on_bad_sample = OnBadSample::skip;
    options.prefetch_next_epoch = false;
    const std::uint64_t before = seek_count();
    {
      Loader loader(path, options);
      digests = one_epoch(loader);
    }
    used = seek_count() - before;
  }
  std::vector<std::uint64_t> digests;
  std::uint64_t used = 0;
};

std::vector<std::string> seek_point_files(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".bseek") files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace

TEST_CASE("Batches are the same with seek points, in every format") {
  const ImageSource images(k_num_images);
  for (const std::string& format : formats_of_files()) {
    CAPTURE(format);
    const TempDir dir;
    const Epoch plain(pack_images(images, dir / "plain", format, 15));
    const std::string path = pack_images(images, dir / "marked", format, 15, true);
    REQUIRE(seek_point_files(path).size() == 3);
    const Epoch marked(path);
    CHECK(plain.used == 0);
    CHECK(marked.used > 10);
    CHECK(marked.digests == plain.digests);
    Loader processes(path, small_batches(2));
    CHECK(rest_of_epoch(processes) == plain.digests);
    const Epoch unverified(path, false);
    CHECK(unverified.used == marked.used);
    CHECK(unverified.digests == plain.digests);
  }
}

TEST_CASE("Seek points that are made later are those of packing, for any number of threads") {
  const Pack pack(k_num_images, {3}, k_num_images, true);
  const Dataset dataset = Dataset::open(pack.path);
  const std::string file = seek_point_path(dataset.shard_path(0));
  const std::vector<std::byte> packed = read_file(file);
  for (const unsigned jobs : {1u, 3u}) {
    fs::remove(file);
    Progress progress;
    const AddedSeekPoints added = add_seek_points(dataset, jobs, false, progress);
    CHECK(read_file(file) == packed);
    CHECK(added.num_images > 10);
    CHECK(added.num_unreadable == 0);
    CHECK(added.num_shards == 1);
    CHECK(progress.samples == k_num_images);
    CHECK(add_seek_points(dataset, jobs, false, progress).num_shards == 0);
  }
}

TEST_CASE("Workers learn seek points for later epochs") {
  const Pack pack(k_num_images, {}, 15);
  Loader plain(pack.path, small_batches(2));
  const std::vector<std::uint64_t> expected = epochs(plain, 3);
  LoaderOptions options = small_batches(2, WorkerMode::threads);
  options.prefetch_next_epoch = false;
  std::vector<std::uint64_t> used;
  for (const std::uint64_t seek_point_cache_bytes : {1u << 20, 500u, 1u}) {
    options.seek_point_cache_bytes = seek_point_cache_bytes;
    const std::uint64_t before = seek_count();
    Loader loader(pack.path, options);
    std::vector<std::uint64_t> found = one_epoch(loader);
    CHECK(seek_count() == before);
    for (int later = 0; later < 2; ++later) {
      CHECK_FALSE(loader.next().has_value());
      for (const std::uint64_t digest : one_epoch(loader)) found.push_back(digest);
    }
    CHECK(found == expected);
    used.push_back(seek_count() - before);
  }
  CHECK(used[0] > used[1]);
  CHECK(used[1] > 0);
  CHECK(used[2] == 0);
  options.worker_mode = WorkerMode::processes;
  options.seek_point_cache_bytes = 1 << 20;
  options.persistent_workers = false;
  Loader processes(pack.path, options);
  CHECK(epochs(processes, 3) == expected);
}

TEST_CASE("Cached seek points are whole or not there") {
  std::vector<std::uint64_t> memory(SeekPointCache::bytes_for(3, 100) / 8 + 1);
  const SeekPointCache points(std::as_writable_bytes(std::span(memory)), 3);
  CHECK(points.record(0).empty());
  CHECK(points.wants(0));
  points.keep(0, as_bytes("a record"));
  CHECK(as_text(points.record(0)) == "a record");
  CHECK_FALSE(points.wants(0));
  points.keep(1, {});
  CHECK(points.record(1).empty());
  CHECK_FALSE(points.wants(1));
  CHECK_FALSE(points.wants(3));
  points.keep(3, as_bytes("out of range"));
  points.keep(2, as_bytes(std::string(200, 'x')));  // no room
  CHECK(points.record(2).empty());
  CHECK_FALSE(points.wants(2));
  CHECK(as_text(points.record(0)) == "a record");
  CHECK(SeekPointCache().record(0).empty());
  CHECK_FALSE(SeekPointCache().wants(0));
}

TEST_CASE("Images that changed since are decoded as without seek points, checksums compared or not") {
  const Pack pack(k_num_images, {}, k_num_images, true);
  {
    const Shard shard = open_shard(Dataset::open(pack.path).shard_path(0));
    File file = File::open_update(shard.path());
    for (std::uint64_t i = 0; i < shard.size(); ++i) {
      const std::uint32_t field = shard.index().image_field(i).value();
      const Extent extent = shard.index().extent(i, field);
      std::vector<std::byte> byte(1);
      const std::uint64_t at = shard.payload().locate(i, field, extent).value().offset + extent.length * 2 / 3;
      file.read_exact(at, byte);
      byte[0] ^= std::byte{4};
      file.write_at(at, byte);
    }
  }
  for (const bool verify_checksums : {true, false}) {
    const Epoch with(pack.path, verify_checksums);
    const std::string file = seek_point_files(pack.path).front();
    const std::vector<std::byte> kept = read_file(file);
    fs::remove(file);
    const Epoch without(pack.path, verify_checksums);
    publish_file(file, kept);
    CHECK(with.digests == without.digests);
    CHECK(with.used == 0);
  }
}

TEST_CASE("Seek points that are damaged or of other shards are ignored") {
  const Pack pack(k_num_images, {}, k_num_images, true);
  const Epoch good(pack.path);
  REQUIRE(good.used > 10);
  const std::string file = seek_point_files(pack.path).front();
  const std::vector<std::byte> bytes = read_file(file);
  const auto check_with = [&](const std::vector<std::byte>& other) {
    publish_file(file, other);
    const Epoch epoch(pack.path);
    CHECK(epoch.digests == good.digests);
    return epoch.used;
  };
  CHECK(check_with({}) == 0);
  CHECK(check_with({bytes.begin(), bytes.end() - 1}) == 0);
  CHECK(check_with(std::vector<std::byte>(bytes.size(), std::byte{0xFF})) == 0);
  std::vector<std::byte> in_table = bytes;
  in_table[100] ^= std::byte{1};
  CHECK(check_with(in_table) == 0);
  std::vector<std::byte> in_record = bytes;
  in_record.back() ^= std::byte{1};
  CHECK(check_with(in_record) <= good.used);
  CHECK(check_with(in_record) >= good.used - 1);
  // Records of each other's images.
  const SeekPointFile right = SeekPointFile::from_bytes(bytes, file);
  SeekPointFileBuilder turned;
  for (std::uint64_t i = right.size(); i > 0; --i) turned.add(right.record(i - 1));
  CHECK(check_with(turned.build(right.shard_bytes())) == 0);
  SeekPointFileBuilder fewer;
  for (std::uint64_t i = 0; i + 1 < right.size(); ++i) fewer.add(right.record(i));
  CHECK(check_with(fewer.build(right.shard_bytes())) == 0);
  CHECK(check_with(bytes) == good.used);
}
