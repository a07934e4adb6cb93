// LoaderOptions: the options of a Loader, with PyTorch's names for them.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/loader/transform/draw_key.hpp"
#include "bale/loader/transform/field.hpp"
#include "bale/loader/transform/mix_draw.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/order/rank_plan.hpp"

namespace bale {

/// What labels of several datasets are that are read together.
enum class Labels : std::uint8_t {
  merged,    // numbers of all their classes, merged by name
  separate,  // each sample's number in its own dataset; classes have no names
};

enum class WorkerMode : std::uint8_t {
  processes,  // separate programs: one that crashes is replaced and its row made again
  threads,    // of this process
};

/// What to do with a sample that is damaged or cannot be decoded. (A shard that is not there, has changed or cannot be
/// fetched is an error in any case.) Loader::bad_samples() lists each of them.
enum class OnBadSample : std::uint8_t {
  fail,        // next() throws
  skip,        // the row is zero and masked out
  substitute,  // another sample of the selection takes the row
};

/// What a Loader reports while it runs.
struct LoaderEvent {
  enum class Kind : std::uint8_t {
    worker_replaced,  // a worker program ended, and another is started
    sample_retried,   // the sample at which it ended is given to a worker again
    bad_sample,       // one more of Loader::bad_samples()
    storage_retried,  // a server or the network failed, and a request is made again; one of several in a row
  };
  Kind kind = Kind::bad_sample;
  std::string reason{};      // one line
  std::uint64_t sample = 0;  // this and the key: of sample_retried and bad_sample
  std::string key{};
};

/// What a transform of the program's own gets.
struct RowPixels {
  const Transform& transform;  // of the view, which was run before
  DrawKey key{};               // what it draws should depend on: KeyedRandom{key.seed, key.epoch, ...}
  std::uint32_t width = 0;     // of the image
  std::uint32_t height = 0;
  MutableBytes pixels{};  // in the transform's layout and dtype, to be changed in place
};

// one per core of this rank: affinity, CPU quota and $LOCAL_WORLD_SIZE are respected
inline constexpr unsigned k_workers_auto = ~0U;

struct LoaderOptions {
  std::uint32_t batch_size = 256;     // DataLoader(batch_size)
  unsigned workers = k_workers_auto;  // DataLoader(num_workers); 0: next() makes the batches itself
  WorkerMode worker_mode = WorkerMode::processes;
  std::uint32_t prefetch = 4;  // batches in the ring, including those that the caller holds, for all workers together;
                               // DataLoader has prefetch_factor * num_workers
  /// Of all batches in the ring, not counting copies; 0: no limit. Lowers prefetch until they fit. The Loader throws
  /// `invalid_argument` if the least number of batches does not.
  std::uint64_t memory_bytes = 0;
  bool copy_when_held = true;  // deliver copies if the caller holds too many slots; the ring then has at least 3 slots.
                               // false: next() throws if the caller holds all slots
  bool persistent_workers = true;   // false: workers exit at the end of each epoch; implies prefetch_next_epoch = false
  bool prefetch_next_epoch = true;  // make batches of the next epoch before this one is consumed

  std::uint64_t seed = 0;                       // of the order
  std::optional<std::uint64_t> augment_seed{};  // of crops, flips, colors and mixing; none: `seed`
  Shuffle shuffle = Shuffle::full();
  std::uint64_t rank = 0;  // DistributedSampler(rank, num_replicas)
  std::uint64_t world_size = 1;
  Tail tail = Tail::pad;  // DataLoader(drop_last), DistributedSampler(drop_last)

  Transform transform = train_transform();
  /// Further views of each image, which is decoded once: two crops for SimCLR, two large and six small ones for DINO.
  /// They draw independently. All views, with the first, have a fixed shape; not for batches on a device.
  std::vector<Transform> further_views{};
  /// Of a mixture, if its sources have transforms of their own: num_views() for each source, one source after the
  /// other. Images of all sources have the same shape, mode, layout and type. checked() makes `transform` and
  /// `further_views` those of source 0. Empty: all sources have the same.
  std::vector<Transform> source_transforms{};
  MixOptions mix{};           // mixup and cutmix; needs one view of fixed shape and a float type
  std::string field{};        // field of the image; empty: the first one with an image's name
  std::string label_field{};  // field of the label, a whole number or a list of one; empty: the labels of the index
  /// Further fields of each sample that batches carry (Batch::field()): captions, embeddings, masks. They are of the
  /// row's own sample, also if its image is mixed. Masks, boxes and keypoints cannot follow images that are mixed.
  std::vector<Field> fields{};
  Labels labels = Labels::merged;
  std::int64_t no_label = k_no_label;  // label of rows without one: unlabeled and skipped samples, empty rows
  OnBadSample on_bad_sample = OnBadSample::fail;
  bool verify_checksums = true;
  std::uint64_t max_pixels = k_default_max_pixels;  // a stored image with more is a bad sample and is not decoded

  std::uint64_t device_pixels = 0;  // set by CudaLoader, for no other use: JPEGs of up to this many pixels may stay in
                                    // their rows as they are, for the device to decode

  double stall_timeout_s = 120;  // a worker that works on one sample for longer is killed and replaced; waiting for the
                                 // sample's bytes does not count; 0: never
  double storage_timeout_s = 1800;  // next() throws `retryable` if a worker waits longer for a sample's bytes; 0: never
  std::uint64_t read_ahead_bytes = std::uint64_t{128} << 20;  // requested from the kernel ahead of the workers; 0: none
  bool large_transfers = false;  // for disks that are limited in transfers per second: see ReadAheadOptions
  bool direct_io = false;        // bypass the page cache, without reading ahead: see DatasetOptions
  /// Bytes of shared memory for seek points of JPEGs that have none next to their shard. Workers make them in the first
  /// epoch, which takes 1.5 times as long; later epochs of this loader decode faster. About 0.4% of the dataset's bytes
  /// is enough; images without room are decoded as before. 0: none. `bale index --seek-points` makes them permanently.
  std::uint64_t seek_point_cache_bytes = 0;
  /// A decoder of the program's own: returns the image of the stored bytes in a format that bale decodes, such as PPM.
  /// The result lives in `memory`, which is the calling thread's and kept, or is `stored`. `field` says which field is
  /// decoded if its name is not an image's. Both this and own_transform are for workers that are threads (or 0
  /// workers), which call them at the same time. A std::exception makes the sample a bad one, except std::bad_alloc;
  /// anything else that they throw comes from next().
  std::function<Bytes(Bytes stored, std::vector<std::byte>& memory)> own_decoder{};
  /// A transform of the program's own, after `transform` and before images are mixed. Not for raw transforms.
  std::function<void(const RowPixels& row)> own_transform{};
  /// Called for each event on the thread that calls next(), while that waits or before it returns, so it needs no lock.
  /// What it throws comes from next(), whose next call returns the same batch. CudaLoader calls it on a thread of its
  /// own.
  std::function<void(const LoaderEvent&)> on_event{};
  /// Path of bale-worker. Empty: $BALE_WORKER, else where set_worker_directory() says.
  std::string worker_program{};

  std::size_t num_views() const { return 1 + further_views.size(); }
  /// The transform of a view: `transform` is that of view 0. Precondition: number < num_views().
  const Transform& view(std::size_t number, std::size_t source = 0) const {
    if (!source_transforms.empty()) return source_transforms[source * num_views() + number];
    return number == 0 ? transform : further_views[number - 1];
  }
  std::span<const Transform> further_views_of(std::size_t source) const {
    if (source_transforms.empty()) return further_views;
    return std::span(source_transforms).subspan(source * num_views() + 1, further_views.size());
  }
  /// The sources with transforms of their own, or 1.
  std::size_t num_view_lists() const { return source_transforms.empty() ? 1 : source_transforms.size() / num_views(); }
};

namespace loader_detail {
/// Whether it is true of a transform of any view and source.
template <typename Predicate>
bool any_view(const LoaderOptions& options, const Predicate& is_true) {
  for (std::size_t i = 0; i < options.num_view_lists() * options.num_views(); ++i) {
    if (is_true(options.view(i % options.num_views(), i / options.num_views()))) return true;
  }
  return false;
}
}  // namespace loader_detail

/// Returns the options as a Loader uses them, with defaults such as the number of workers filled in. Throws
/// `invalid_argument` for options that are out of range or contradict each other.
LoaderOptions checked(LoaderOptions options);

}  // namespace bale
