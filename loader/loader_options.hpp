// What a Loader is asked for, beside PyTorch's names for it. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bale/formats/core/sample.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale {

enum class WorkerMode : std::uint8_t {
  processes,  // exec'd programs: a crash of one is survived and goes unseen
  threads,    // of this process, over the same ring
};

/// What a sample that cannot be read or decoded does to its row. Each is named in Loader::bad_samples().
enum class OnBadSample : std::uint8_t {
  fail,        // next() throws, naming it
  skip,        // the row stays, masked out and zero
  substitute,  // another sample, drawn from the same dataset, takes the row
};

inline constexpr unsigned k_workers_auto =
    ~0U;  // one per core of this rank: affinity, CPU quota and $LOCAL_WORLD_SIZE are heeded

struct LoaderOptions {
  std::uint32_t batch_size = 256;     // DataLoader(batch_size)
  unsigned workers = k_workers_auto;  // DataLoader(num_workers); 0: in the caller, inside next()
  WorkerMode worker_mode = WorkerMode::processes;
  std::uint32_t prefetch = 4;  // batches in the ring, those in the caller's hands included; DataLoader counts per
                               // worker (prefetch_factor * num_workers), here it is all workers together
  bool copy_when_held = true;  // a batch beyond what the ring can spare is delivered as a copy (at least 3 slots are
                               // made then); false: next() throws when the caller holds all slots
  bool persistent_workers = true;  // false: workers end with each epoch and start with the next
  bool read_on = true;             // start on the next epoch while the end of this one is being consumed

  std::uint64_t seed = 0;                       // of the order
  std::optional<std::uint64_t> augment_seed{};  // of crops, flips, colors and mixing; none: `seed`
  Shuffle shuffle = Shuffle::full();
  std::uint64_t rank = 0;  // DistributedSampler(rank, num_replicas)
  std::uint64_t world_size = 1;
  Tail tail = Tail::pad;  // DataLoader(drop_last), DistributedSampler(drop_last)

  Transform transform = train_transform();
  std::string field{};                 // field that holds the image; empty: the first one with an image's name
  std::int64_t no_label = k_no_label;  // class number of rows that have none: unlabeled samples, empty and skipped rows
  OnBadSample on_bad_sample = OnBadSample::fail;
  bool verify_checksums = true;
  std::uint64_t max_pixels = k_default_max_pixels;  // of a stored image, checked before it is decoded

  double stall_timeout_s = 120;  // a worker that works on one sample for longer is killed and replaced, waiting for the
                                 // sample's bytes not counted; 0: never
  double storage_timeout_s = 1800;  // next() throws `retryable` after so long if a worker still waits for a sample's
                                    // bytes; 0: never
  std::uint64_t read_ahead_bytes = std::uint64_t{128} << 20;  // asked of the kernel before workers come to it; 0: none
  bool large_transfers = false;  // for disks that are limited in transfers a second: see ReadAheadOptions
  bool direct_io = false;        // around the page cache, nothing read ahead: see DatasetOptions
  /// Bytes of shared memory for entry points of JPEGs that have none beside their shard: workers make them in the first
  /// epoch, which takes half as long again, and later ones of this loader decode faster. Some 0.4% of the dataset's
  /// bytes are enough; what has no room is decoded as before. 0: none. `bale index --entry-points` does it once for
  /// all.
  std::uint64_t learn_bytes = 0;
  /// Path of bale-worker; empty: $BALE_WORKER, beside this program, or where it was installed.
  std::string worker_program{};
};

/// The options as a Loader goes by them: the number of workers decided, and what contradicts or is beyond a limit
/// refused
/// (`invalid_argument`).
LoaderOptions checked(LoaderOptions options);

}  // namespace bale
