// rewrite(): writes shards of a packed dataset again, as a new version of it: without the samples that were removed,
// and with the labels that were corrected, so that other programs see the version as it is. Small shards are joined.
//
// Only those shards are written, under new names; the order of the samples stays. With `only_removed` just those that
// hold removed samples are, and layers of others stay, without what they said of the written. Replaced shards go to
// "versions/", where readers of older versions find them, after the new manifest is published. With `purge` every
// shard of any version that holds a removed sample goes instead, and the versions that need it: who opens one of these
// gets `removed` with the reason. What the cache of this machine (bale/formats/storage/remote_cache.hpp) has of these
// shards goes, too, whatever their names on servers are.
//
// An interrupted run is continued by the next call with the same options. Memory: of pack(), and the removed rows.
// Threads: may be called by many threads at once, for different datasets. Another run at the same dataset is refused
// (`retryable`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bale/formats/base/progress.hpp"

namespace bale {

struct RewriteOptions {
  std::string destination{};      // directory of the dataset
  bool purge = false;             // see above
  std::uint64_t small_bytes = 0;  // join neighbors of less than this many bytes, up to as many; 0: none
  bool all = false;               // write every shard again
  bool only_removed = false;      // of touched shards only those that hold removed samples
  unsigned jobs = 0;              // shards at a time; 0: two per core
  std::string message{};          // what `bale log` says of the new version
  bool dry_run = false;           // look, and change nothing
};

struct RewriteReport {
  std::string directory;
  std::string parent;                   // id of the version before
  std::string version{};                // that the dataset is now; the same if no shard was written; empty: a dry run
  std::uint64_t num_samples = 0;        // in shards that were written
  std::uint64_t num_replaced = 0;       // shards that are in the new version no more
  std::uint64_t num_shards = 0;         // that were written
  std::uint64_t num_bytes = 0;          // of these; of a dry run: of those that they would replace
  std::vector<std::string> gone{};      // ids of versions that were purged
  std::uint64_t num_removed_files = 0;  // that no version needs any more
  std::uint64_t num_linked_files = 0;   // of a purge: of these, links and files with other names, which keep the bytes
  std::uint64_t num_cache_bytes = 0;    // that the cache of remote files had of purged shards
  bool bucket_keeps_removed = false;    // of an object store: older versions of the removed objects stay in it
};

/// Returns when everything is durable. If all samples are removed, the new version has no shards. Throws what add()
/// throws of the dataset, and `unsupported` for shards of pixels and those whose names have their number.
RewriteReport rewrite(const RewriteOptions& options, Progress& progress);

/// Throws what rewrite() throws of every dataset of this layout, before samples are removed that it could not purge.
void throw_if_not_rewritable(const std::string& directory);

}  // namespace bale
