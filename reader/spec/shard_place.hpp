// Where the shards of a packed dataset's versions lie: those of the current one next to its manifest, others in
// "versions/". Names are never used again, so a shard is where a file has its name. If there is none, the same content
// was written again, and a manifest has its digest with another name.
//
// Functions are safe in any thread. Errors: those of reading files.
#pragma once

#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/shard/manifest.hpp"

namespace bale {

/// Where a shard lies now that lay at `path`. With a digest ("xxh3:..."), also under another name.
std::string place_of_shard(const std::string& path, const std::string& digest = {});

/// True if `manifest`, which was read from the file `read`, is not at `path` any more. Otherwise its shards are where
/// their names say, and its version is kept. Asks a server.
bool is_replaced_since(const std::string& path, const FileStamp& read, const Manifest& manifest);

/// What `open` returns for this place, which may have changed since the path became known. `digest` is called only
/// then.
template <typename DigestOf, typename Open>
auto open_at_its_place(const std::string& path, const DigestOf& digest, const Open& open) {
  try {
    return open(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    const std::string place = place_of_shard(path, digest());
    if (place == path) throw;
    return open(place);
  }
}

/// Throws `removed` with the reason if the version with this manifest, which has a shard at `path`, is gone, and
/// `changed` if another dataset took its place.
void require_kept(const std::string& path, const Manifest& manifest);

}  // namespace bale
