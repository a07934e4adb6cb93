#include "bale/writer/publish/finished_check.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {

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
