#include "bale/writer/publish/run_store.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/shard/shard_job.hpp"

namespace bale {

std::string RunStore::text_of(const PlannedDataset&, const std::string& name) {
  throw Error(ErrorCode::unsupported, "versions of a dataset are not made of parts", {.path = name});
}

void RunStore::stage_file(const WriteFile&) {
  throw Error(ErrorCode::unsupported, "versions of a dataset are not made of parts");
}

std::vector<Slot> slots_of(const Plan& plan) {
  std::vector<Slot> slots;
  for (const PlannedDataset& dataset : plan.datasets) {
    for (const PlannedShard& shard : dataset.shards) {
      slots.push_back({.number = slots.size(), .dataset = &dataset, .shard = shard});
    }
  }
  return slots;
}

std::vector<Replacement::Move> moves_of_shard(const PackOptions& options, const PlannedDataset& dataset,
                                              const PlannedShard& shard) {
  const Layout& layout = *options.format.layout;
  const std::string staged =
      Journal::staged_name(dataset.subdirectory + (shard.staged_as.empty() ? shard.file : shard.staged_as));
  const std::string path = below_destination(dataset.subdirectory, shard.file);
  std::vector<Replacement::Move> moves;
  for (const Sidecar& sidecar : sidecars_of(layout, options.sidecars)) {
    moves.emplace_back(staged_sidecar(staged, sidecar), sidecar_path(path, layout, sidecar));
  }
  moves.emplace_back(index_path(staged), index_path(path));
  if (options.seek_points) moves.emplace_back(seek_point_path(staged), seek_point_path(path));
  moves.emplace_back(staged, path);
  return moves;
}

std::vector<Replacement::Move> moves_of(const PackOptions& options, const Slot& slot) {
  return moves_of_shard(options, *slot.dataset, slot.shard);
}

std::string final_path(const PackOptions& options, const Slot& slot) {
  return join_path(dataset_directory(options, *slot.dataset), slot.shard.file);
}

std::string record_stem(std::uint64_t number, const FinishedShard& finished) {
  const std::string& digest = finished.shard.digest;
  return fmt::format("{:07}.{}", number, digest.empty() ? "empty" : digest.substr(digest.find(':') + 1));
}

std::optional<std::uint64_t> leading_number(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_whole = end == name.data() + name.size() || *end == '.';
  return error == std::errc{} && is_whole ? std::optional(number) : std::nullopt;
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_intact(const std::vector<Replacement::Move>& moves, const PackOptions& options, const FinishedShard& recorded,
               const std::string& partial_directory, CheckDepth depth) {
  const auto place = [&](const Replacement::Move& move) {
    return partial_directory.empty() ? join_path(options.destination, move.second)
                                     : join_path(partial_directory, move.first);
  };
  const std::string path = place(moves.back());
  const auto is_done = [&](const Replacement::Move& move) {
    const std::string file = place(move);
    return is_file(file == seek_point_path(path) ? find_seek_points(path) : file);
  };
  if (!std::all_of(moves.begin(), moves.end(), is_done)) return false;
  if (partial_directory.empty()) {
    // `bale index` may have added sidecars.
    const std::string directory = parent_directory(path);
    const std::vector<std::string>& sidecars = recorded.shard.sidecars;
    const auto is_there = [&](const std::string& name) { return is_file(join_path(directory, name)); };
    if (!std::all_of(sidecars.begin(), sidecars.end(), is_there)) return false;
  }
  const bool is_read = depth == CheckDepth::content;
  try {
    if (is_read && options.seek_points && !SeekPointFile::load(find_seek_points(path)).records_are_whole())
      return false;
    const ShardIndex index = ShardIndex::load(index_path(path));
    if (!index.digest() || digest_text(*index.digest()) != recorded.shard.digest) return false;
    if (index.size() != recorded.shard.num_samples || file_size(path) != recorded.shard.bytes) return false;
    return is_read ? digest_text(digest_file(path)) == recorded.shard.digest
                   : index.ends_digest() == digest_file_ends(path);
  } catch (const Error& error) {
    if (is_lack_of_resources(error)) throw;
    return false;
  }
}

bool has_checked_images(const std::string& path, const PackOptions& options, const Progress& progress) {
  const Shard shard = Shard::open(path, *options.format.format, ShardIndex::load(index_path(path)));
  Scratch scratch;
  for (std::uint64_t i = 0; i < shard.size(); ++i) {
    progress.throw_if_stopped();
    if (!shard.index().image_field(i)) continue;
    const Bytes image = shard.read_image(i, scratch);
    const ImageFacts facts = check_image(image, ImageCheck::decode, options.max_pixels);
    if (facts.condition != shard.index().condition(i)) return false;
  }
  return true;
}

}  // namespace bale
