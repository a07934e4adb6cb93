#include "bale/writer/shard/shard_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/shard/shard_job.hpp"

namespace bale {
namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse_damage(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, why,
              {.path = path, .hint = "run `bale verify` on this dataset, and repair or replace it first"});
}

/// False if the file system has no such links, or not from there to here.
bool link_file(const std::string& from, const std::string& to) {
  ::unlink(to.c_str());
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  const int reasons[] = {EXDEV, EPERM, EACCES, EMLINK, EOPNOTSUPP, ENOSYS, EINVAL, ENOENT};
  if (std::find(std::begin(reasons), std::end(reasons), errno) != std::end(reasons)) return false;
  throw_errno("link", to);
}

void copy_file(const ShardCopy& copy, Progress& progress) {
  const File in = File::open_read(copy.from);
  in.advise_sequential();
  File out = File::create(copy.staged_path);
  DigestStream stream;
  std::vector<std::byte> buffer(k_buffer_bytes);
  std::uint64_t at = 0;
  while (const std::size_t count = in.read_some(at, buffer)) {
    progress.throw_if_stopped();
    const Bytes part = Bytes(buffer).first(count);
    stream.update(part);
    out.write_at(at, part);
    at += count;
    progress.bytes.fetch_add(count, std::memory_order_relaxed);
  }
  if (digest_text(stream.digest()) != copy.shard.digest)
    refuse_damage(copy.from, "its content is not what its manifest says");
  out.sync();
}

/// Puts the shard's file in its place.
void place_file(const ShardCopy& copy, const ShardIndex& index, Progress& progress) {
  if (!copy.link || !link_file(copy.from, copy.staged_path)) return copy_file(copy, progress);
  if (file_size(copy.staged_path) != copy.shard.bytes)
    refuse_damage(copy.from, "its size is not what its manifest says");
  if (index.ends_digest() && *index.ends_digest() != digest_file_ends(copy.staged_path)) {
    refuse_damage(copy.from, "its ends are not what its index says");
  }
  File::open_read(copy.staged_path).sync();
  progress.bytes.fetch_add(copy.shard.bytes, std::memory_order_relaxed);
}

}  // namespace

ShardIndex load_index_of(const std::string& path, const ManifestShard& shard, const Layers& layers) {
  ShardIndex index = ShardIndex::load(index_path(path));
  const bool is_same = index.digest() && digest_text(*index.digest()) == shard.digest &&
                       index.size() == shard.num_stored() && index.shard_bytes() == shard.bytes;
  if (!is_same) refuse_damage(index_path(path), "is not the index of the shard that the manifest names");
  return layers.amend(std::move(index), shard.digest, path);
}

FinishedShard copy_shard(const ShardCopy& copy, const PackOptions& options, Progress& progress) {
  progress.throw_if_stopped();
  const ShardIndex index = load_index_of(copy.from, copy.shard);
  place_file(copy, index, progress);
  write_durably(index_path(copy.staged_path), index.bytes());
  FinishedShard finished{.subdirectory = {},
                         .shard = {.file = copy.file,
                                   .digest = copy.shard.digest,
                                   .num_samples = copy.shard.num_samples,
                                   .bytes = copy.shard.bytes}};
  for (const FieldInfo& field : index.fields()) {
    finished.fields.push_back(
        {.name = field.name, .codec = std::string(name_of(field.codec)), .stored_bytes = field.stored_bytes});
  }
  if (options.seek_points) {
    write_durably(seek_point_path(copy.staged_path), read_file(find_seek_points(copy.from)));
    finished.shard.sidecars.push_back(seek_point_path(copy.file));
  }
  const Layout& layout = *options.format.layout;
  for (const Sidecar& sidecar : sidecars_of(layout, options.sidecars)) {
    write_durably(staged_sidecar(copy.staged_path, sidecar), as_bytes(sidecar.text(copy.staged_path, index)));
    finished.shard.sidecars.push_back(sidecar_path(copy.file, layout, sidecar));
  }
  progress.samples.fetch_add(index.size(), std::memory_order_relaxed);
  return finished;
}

}  // namespace bale
