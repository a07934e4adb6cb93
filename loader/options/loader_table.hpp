// for_options: the options of a Loader that are numbers, truth values, texts or choices, one row each. From the rows
// follow the ranges that checked() allows, what Python's options are read into, bale.Reading with its defaults and
// texts, and what workers get.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "bale/loader/loader_options.hpp"
#include "bale/loader/ring/ring.hpp"

namespace bale::loader_detail {

struct LoaderRow {
  const char* keyword = "";  // in Python; empty: an option of C++ alone, or one that Python's loaders make of others
  const char* text = "";     // of a member of bale.Reading; empty: bale.Loader explains its own keywords
  std::uint64_t least = 0;   // of a whole number
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// Calls `visit` with each row and its member of `options`. The rows of bale.Reading have the order of its members.
template <typename Options, typename Visit>
void for_options(Options& options, const Visit& visit) {
  visit(LoaderRow{.keyword = "batch_size", .least = 1, .most = k_max_rows}, options.batch_size);
  visit(LoaderRow{}, options.workers);
  visit(LoaderRow{.keyword = "threads"}, options.worker_mode);
  visit(LoaderRow{.keyword = "prefetch"}, options.prefetch);
  visit(LoaderRow{}, options.memory_bytes);
  visit(LoaderRow{}, options.copy_when_held);
  visit(LoaderRow{}, options.prefetch_next_epoch);
  visit(LoaderRow{.keyword = "seed"}, options.seed);
  visit(LoaderRow{.keyword = "augment_seed"}, options.augment_seed);
  visit(LoaderRow{.keyword = "rank"}, options.rank);
  visit(LoaderRow{.keyword = "world_size"}, options.world_size);
  visit(LoaderRow{.keyword = "tail"}, options.tail);
  visit(LoaderRow{.keyword = "on_bad_sample"}, options.on_bad_sample);
  visit(LoaderRow{.keyword = "worker_program"}, options.worker_program);
  visit(LoaderRow{}, options.device_pixels);

  visit(LoaderRow{"field", "Name of the field of the image. \"\": the first one with an image's name."}, options.field);
  visit(LoaderRow{"label_field",
                  "Name of the field of the label, a whole number as in \"cls\", or a list of one: \"label.cls\". A "
                  "sample without it has no label. \"\": the labels of the dataset."},
        options.label_field);
  visit(
      LoaderRow{"labels",
                "Of several datasets. \"merged\": numbers of all classes, merged by name. \"separate\": each sample's "
                "number in its own dataset."},
      options.labels);
  visit(LoaderRow{"no_label", "Label of rows without one: unlabeled and skipped samples, empty rows."},
        options.no_label);
  visit(LoaderRow{"persistent_workers", "False: workers exit at the end of each epoch."}, options.persistent_workers);
  visit(LoaderRow{"verify_checksums", "Compare the checksum of each field before it is decoded."},
        options.verify_checksums);
  visit(LoaderRow{"max_pixels", "Images with more pixels are bad samples."}, options.max_pixels);
  visit(LoaderRow{"stall_timeout_s",
                  "Seconds after which a worker that is stuck at one sample is replaced; waiting for its bytes does "
                  "not count. 0: never."},
        options.stall_timeout_s);
  visit(LoaderRow{"storage_timeout_s",
                  "Seconds that a worker may wait for the bytes of a sample before the iteration raises bale.Error "
                  "(\"retryable\"). 0: no limit."},
        options.storage_timeout_s);
  visit(LoaderRow{"read_ahead_bytes",
                  "Bytes that are requested from the kernel ahead of the workers. 0: none. See docs/TUNING.md."},
        options.read_ahead_bytes);
  visit(LoaderRow{"large_transfers", "For disks that are limited in transfers per second; see docs/TUNING.md."},
        options.large_transfers);
  visit(LoaderRow{"direct_io",
                  "Bypass the page cache, without reading ahead, for datasets larger than memory; see docs/TUNING.md."},
        options.direct_io);
  visit(LoaderRow{.keyword = "seek_point_cache_bytes",
                  .text = "Bytes of shared memory for seek points of JPEGs, which workers make in the first epoch so "
                          "that later epochs decode faster. 0: none. See docs/TUNING.md.",
                  .most = std::uint64_t{1} << 40},
        options.seek_point_cache_bytes);
}

// The number of workers of a Loader if the caller gives none.

/// The cores that a rank may use, and the number of ranks that share them.
struct CoresOfRank {
  unsigned own = 1;      // in this process's affinity mask
  unsigned parents = 1;  // in the parent process's affinity mask
  std::optional<double> quota{};
  unsigned num_ranks = 1;  // on this machine
};

/// One worker per core of this rank's share. An affinity mask that is narrower than the parent's is already a share.
unsigned share_of_cores(const CoresOfRank& cores);
/// share_of_cores() of this process. The number of ranks is $LOCAL_WORLD_SIZE, which torchrun sets.
unsigned default_workers();

}  // namespace bale::loader_detail
