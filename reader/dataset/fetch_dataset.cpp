#include "bale/reader/fetch_dataset.hpp"

#include <memory>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/reader/dataset.hpp"

namespace bale {
namespace {

constexpr unsigned k_files_at_a_time = 8;  // a server is asked for several at once: most of the time of each is latency
constexpr std::uint64_t k_piece_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t k_ahead_bytes = 4 * k_piece_bytes;

}  // namespace

FetchList plan_fetch(const std::vector<std::string>& specs) {
  FetchList plan;
  for (const std::string& spec : specs) {
    const Dataset dataset = Dataset::open(spec, {.relative_names = true});
    const std::size_t num_before = plan.files.size();
    for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
      const std::string& path = dataset.shard_path(shard);
      if (remote_storage_of(path) == nullptr) continue;
      plan.files.push_back(path);
      for (const std::string& beside : {index_path(path), seek_point_path(path)}) {
        if (path_exists(beside)) plan.files.push_back(beside);
      }
    }
    if (plan.files.size() == num_before) {
      throw Error(ErrorCode::invalid_argument, "has no remote files, so there is nothing to fetch", {.path = spec});
    }
  }
  for (const std::string& path : plan.files) plan.bytes += File::open_read(path).size();
  return plan;
}

void fetch(const FetchList& plan, Progress& progress) {
  progress.total_bytes = plan.bytes;
  progress.total_shards = plan.files.size();
  run_parallel(plan.files.size(), k_files_at_a_time, [&](std::size_t number) {
    const File file = File::open_read(plan.files[number]);
    std::vector<std::byte> piece(k_piece_bytes);
    for (std::uint64_t at = 0;;) {
      progress.throw_if_stopped();
      file.advise_will_need(at, k_ahead_bytes);
      const std::size_t got = file.read_some(at, piece);
      if (got == 0) break;
      at += got;
      progress.bytes += got;
    }
    ++progress.shards;
  });
  run_parallel(plan.files.size(), k_files_at_a_time, [&](std::size_t number) {  // later files may have taken the room
    progress.throw_if_stopped();
    const std::string& path = plan.files[number];
    const std::shared_ptr<const RemoteFile> file = remote_storage_of(path)->open(path);
    if (file->size() == 0 || file->is_cached(0, file->size())) return;
    throw Error(ErrorCode::io, "was fetched, and is not all in the cache",
                {.path = path, .hint = "free some space on the disk of the cache, or give BALE_CACHE_LIMIT more"});
  });
}

}  // namespace bale
