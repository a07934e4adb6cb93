// Merging finished datasets: their shards become one dataset, whole and without encoding anything again. Also the parts
// that several Writers wrote (Writer::Options::part).
//
// Shards are copied, or linked, with their indexes, and get the names of the new dataset. Classes are merged by name as
// in reading several datasets (class_merge.hpp): the first dataset keeps its numbers. Shards whose classes get other
// numbers are written again, because every container stores the numbers, too; the bytes of their images stay.
// The result remembers the samples that were removed from any of them (bale/writer/change.hpp).
//
// The result is a function of the sources, their order and the name: it does not depend on jobs, links and
// interruptions. Memory: 8 bytes per sample while keys are compared, and one index per job. Threads: may be called by
// many threads at once, for different destinations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bale/writer/packer.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

struct DatasetMergeOptions {
  std::vector<std::string> sources;  // directories of finished datasets, or versions of them ("DIRECTORY@ID"), in the
                                     // order that their samples get
  std::string destination;           // directory, created if it does not exist
  std::string name{};  // of the dataset, and prefix of its shards; empty: last component of the destination
  /// Give shards a second name instead of copying them, if the file system can. Sources and destination then share
  /// them.
  bool link = false;
  bool allow_removed = false;  // take samples of one dataset that were removed from another
  unsigned jobs = 0;           // shards copied at a time; 0: two per core
  DestinationMode mode = DestinationMode::fresh;
  std::function<void(const std::string& line)> on_warning{};  // as of PackOptions
};

/// Merges and returns when everything is durable. A shard that is copied is compared with its digest. Of one that is
/// linked size and ends are compared; `bale verify` reads all. Throws
///   `invalid_argument`  datasets of different formats or layouts, a key in two of them (the message names both),
///                       labels without names next to classes with names, numbers of classes in boxes that would
///                       change, a sample that was removed from another one of them, unless it is allowed
///   `damaged`           a shard or an index that is not what its manifest says
///   `not_found`         a source without a manifest
/// and what pack() throws of a destination.
PackReport merge_datasets(const DatasetMergeOptions& options, Progress& progress);

/// Merges the parts that Writers wrote into `destination`, in the order of their numbers, and removes them when the
/// dataset is complete. Names the missing ones in MergeReport::missing_parts and changes nothing if there are any. May
/// be called again, also after it was killed; a dataset that is merged already is left as it is. `parts` is their
/// number, 0: as the Writers were given. Throws `not_found` if there are no parts, `invalid_argument` if they are of
/// different numbers of parts, classes or options or if two have the same key, and what merge_datasets() throws.
MergeReport merge_writer_parts(const std::string& destination, std::uint64_t parts, unsigned jobs, Progress& progress);

}  // namespace bale
