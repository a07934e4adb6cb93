#include "bale/writer/index/add_indexes.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "bale/formats/base/files/temporary_file.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/system/parallel.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/shard/seek_point_file.hpp"

namespace bale {
namespace {

// A thread takes one piece at a time. The threads join after each window, which bounds the memory of waiting records.
constexpr std::uint64_t k_samples_of_piece = 32;
constexpr std::uint64_t k_pieces_of_window = 64;

using Record = std::vector<std::byte>;

bool has_seek_points(const Shard& shard) {
  try {
    const SeekPointFile file = SeekPointFile::load(find_seek_points(shard.path()));
    return file.fits(shard.index()) && file.records_are_whole();
  } catch (const Error&) {
    return false;
  }
}

/// Runs before the files are written. A missing file that the manifest names is reported; a file that it does not name
/// would belong to no dataset.
void name_in_manifest(const Dataset& dataset) {
  if (!dataset.manifest() || dataset.num_shards() == 0) return;
  Manifest manifest = *dataset.manifest();
  bool changed = false;
  for (ManifestShard& shard : manifest.shards) {
    std::vector<std::string>& names = shard.sidecars;
    const auto is_named = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_named(seek_point_path(shard.file)) || is_named(old_seek_point_path(shard.file))) continue;
    names.push_back(seek_point_path(shard.file));
    changed = true;
  }
  const std::string directory = parent_directory(dataset.shard_path(0));
  if (changed) publish_file(join_path(directory, k_manifest_name), as_bytes(manifest_text(manifest)));
}

void add_to_shard(const Shard& shard, unsigned jobs, Progress& progress, AddedSeekPoints& added) {
  std::atomic<std::uint64_t> num_unreadable{0};
  const auto make = [&](std::uint64_t i, Scratch& scratch) -> Record {
    if (!shard.index().image_field(i)) return {};
    try {
      return make_seek_points(shard.read_image(i, scratch));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      ++num_unreadable;
      return {};
    }
  };
  SeekPointFileBuilder builder;
  std::vector<Record> records(std::min(k_samples_of_piece * k_pieces_of_window, shard.size()));
  for (std::uint64_t first = 0; first < shard.size(); first += records.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(records.size(), shard.size() - first);
    run_parallel(divide_up(count, k_samples_of_piece), jobs, [&](std::size_t piece) {
      Scratch scratch;
      const std::uint64_t end = std::min(count, (piece + 1) * k_samples_of_piece);
      for (std::uint64_t i = piece * k_samples_of_piece; i < end; ++i) {
        progress.throw_if_stopped();
        records[i] = make(first + i, scratch);
        ++progress.samples;
      }
    });
    for (std::uint64_t i = 0; i < count; ++i) {
      builder.add(records[i]);
      if (!records[i].empty()) ++added.num_images;
    }
  }
  StagedFile(find_seek_points(shard.path()), builder.build(shard.index().shard_bytes())).publish(shard.path());
  added.num_unreadable += num_unreadable;
  ++progress.shards;
}

}  // namespace

AddedSeekPoints add_seek_points(const Dataset& dataset, unsigned jobs, bool replace, Progress& progress) {
  require_no_layers(dataset);
  AddedSeekPoints added;
  std::vector<std::size_t> shards;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    if (!replace && has_seek_points(*dataset.use_shard(number))) continue;
    shards.push_back(number);
    added.num_samples += dataset.use_index(number)->size();
  }
  added.num_shards = shards.size();
  progress.total_samples = added.num_samples;
  progress.total_shards = added.num_shards;
  name_in_manifest(dataset);
  for (const std::size_t number : shards) add_to_shard(*dataset.shard(number), jobs, progress, added);
  return added;
}

}  // namespace bale
