// pack(): writes a Source as shards on disk, or in an object store. Converting a dataset is packing it from a packed
// source.
//
// The plan of the shards is a pure function of source and options, and each job writes whole shards. So the bytes do
// not depend on the number of jobs. A shard gets its final name when it is complete and durable; manifest.json is
// written last. An interrupted run can be continued with DestinationMode::resume.
//
// Memory: for each job a buffer of its largest sample and the index of its shard, and the memory of the source.
// Threads: pack() and preview_pack() may be called by many threads at once, for different destinations. Another process
// or thread that packs into the same destination is refused (`retryable`).
//
// The destination may be an s3:// name. Shards are then built on a local disk and uploaded. DestinationMode::overwrite
// removes the manifest of the older dataset first, because a store cannot exchange both at once. Finished shards are
// compared by sizes and ETags. An object store has no locks: of two runs one publishes its manifest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/progress.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// How many samples go into a shard. shard_count, if not 0, takes precedence over shard_samples, and both over
/// shard_bytes.
struct ShardSizing {
  /// At most this many bytes of fields, as the source describes them and without what the container adds; a larger
  /// sample is alone.
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;
  std::uint64_t shard_count = 0;    // shards per dataset, of equal numbers of samples
  std::uint64_t shard_samples = 0;  // samples per shard
};

/// What to do with a bad sample: `fail` stops the run, `skip` leaves the sample out and lists it in the ledger
/// (skipped.jsonl), `quarantine` also copies its files.
enum class OnError { fail, skip, quarantine };
/// "fail", "skip" or "quarantine". A literal.
std::string_view on_error_name(OnError policy);

/// What to do if the destination is not empty.
enum class DestinationMode {
  fresh,      // refuse it
  resume,     // continue an interrupted run of the same plan, or repair a finished one
  overwrite,  // replace the dataset of the same name; it stays until the new one is complete. Other files are never
              // removed
};

/// A part of the samples that becomes a dataset of its own.
struct Split {
  std::string name;  // also the name of its directory
  double fraction;   // of the samples; the fractions add up to 1
};

/// Changes to the images before they are packed. By default none. JPEG and PNG only.
struct ImageEdits {
  std::uint32_t resize_short = 0;  // shorter side in pixels; 0: do not resize; smaller images stay as they are
  std::uint32_t resize_max = 0;    // longer side, likewise
  std::optional<int> quality{};    // 1..100, of JPEGs that are encoded again; none: k_default_quality
  bool orient = false;             // turn as EXIF says, and remove the tag
  bool strip_metadata = false;     // remove EXIF, XMP, color profiles, comments, texts
  bool jpeg_lossless = false;      // transcode JPEGs to baseline with the same pixels (jpeg_lossless.hpp)

  static constexpr int k_default_quality = 90;
  bool resizes() const { return resize_short != 0 || resize_max != 0; }
};

struct PackOptions {
  std::string destination;                    // directory, created if it does not exist, or s3://BUCKET/PREFIX
  FormatAndLayout format = default_format();  // or what find_format() returns
  std::map<std::string, std::string> format_options{};  // of the format: WriterOptions::format_options
  std::string name{};                                   // of the dataset, and prefix of its shards; empty: default_name
  std::string default_name{};                           // empty: last component of the destination
  ShardSizing sizing{};
  unsigned jobs = 0;                            // threads; 0: two per core
  std::optional<std::uint64_t> shuffle_seed{};  // none: order of the source
  std::vector<Split> splits{};                  // each becomes a dataset in destination/NAME
  bool stratify = false;                        // split every class by the same fractions
  std::uint64_t max_samples = 0;                // after shuffling; 0: all
  std::optional<int> compress_level{};  // zstd level for every field that is not an image; none: do not compress
  ImageEdits edits{};
  std::uint64_t max_pixels = k_default_max_pixels;  // larger images are bad samples if they must be decoded
  bool check_images = false;  // decode every image, to record its condition in the index; unless on_error is `fail`,
                              // one that cannot be decoded is a bad sample
  bool jpeg_planes = false;   // store JPEGs as formats/image/jpeg/planes/PLANES.md says; readers restore them
  bool seek_points = false;   // make them for JPEGs (bale/formats/image/jpeg/seek_points.hpp)
  std::vector<std::string> sidecars{};  // names of additional files for other readers (Sidecar, ShardList)
  OnError on_error = OnError::fail;
  DestinationMode mode = DestinationMode::fresh;
  /// Local directory in which shards are built that are uploaded; empty: TMPDIR or /tmp. It needs room for one shard
  /// per job.
  std::string staging_directory{};
  std::string change_message{};  // of add(): what `bale log` says of the new version
  /// Gets what is odd about the plan or the destination, one line each, before a sample is written; by the calling
  /// thread.
  std::function<void(const std::string& line)> on_warning{};

  bool leaves_out_undecodable() const { return check_images && on_error != OnError::fail; }
};

/// A sample that was left out.
struct SkippedSample {
  std::string origin;                      // Source::origin(), or path of a directory or shard
  std::string why;                         // one line
  std::vector<std::string> quarantined{};  // copies of its files, relative to the dataset's directory
  /// Number of samples that this entry stands for: more than one for a shard or directory. nullopt: unknown.
  std::optional<std::uint64_t> num_samples = 1;
};

/// What add() did to a dataset.
struct AddedSamples {
  std::string parent;                      // id of the version before
  std::string version;                     // that the dataset is now; the same if there was nothing to add
  std::vector<std::string> new_classes{};  // they have the last numbers
  std::uint64_t num_existing = 0;          // samples that the dataset had already
};

struct PackReport {
  struct Output {
    std::string directory;
    Manifest manifest;
  };
  /// A dataset that was replaced (DestinationMode::overwrite).
  struct Replaced {
    std::string directory;
    std::string name;
    std::uint64_t num_samples = 0;
  };
  std::vector<Output> outputs;  // one, or one per split
  std::vector<Replaced> replaced{};
  std::uint64_t num_samples = 0;
  std::uint64_t num_bytes = 0;            // of shard files
  std::uint64_t num_resumed_shards = 0;   // finished by an earlier run
  std::uint64_t num_repaired_shards = 0;  // missing or damaged in a finished dataset, and written again
  std::optional<AddedSamples> added{};    // of add(): the counts above are of the new samples
  std::vector<SkippedSample> skipped;
  std::map<std::string, std::uint64_t> undecodable;  // number of packed images that the loader does not decode, by kind
  /// Where planes were asked for, the number of JPEGs that are stored so ("planes"), and of those that stay as they
  /// are, by why: "arithmetic".
  std::map<std::string, std::uint64_t> jpegs;
};

/// The shards that pack() would write.
struct PackPreview {
  struct ShardRow {
    std::string file;  // relative to the destination
    std::uint64_t num_samples;
    std::uint64_t payload_bytes;  // of the fields as they are packed, before they are compressed
  };
  std::vector<ShardRow> shards;
  /// payload_bytes are estimated by this many samples, because images are changed or their source only knows about how
  /// large they are. 0: they are exact.
  std::uint64_t num_measured = 0;
};

/// Plans the shards, looks at the destination and writes nothing. Throws what pack() throws before it reads a sample.
PackPreview preview_pack(const Source& source, const PackOptions& options);

/// Packs `source` and returns when everything is durable. `progress` counts up from its current values; its totals are
/// set. To stop from another thread or a signal handler, set progress.stop. pack() itself also sets progress.stop when
/// a job fails, to stop the other jobs, and does not reset it: use a new Progress for each call.
/// Throws
///   `invalid_argument`  contradictory options, a source without samples, keys that are not unique, or a source and a
///                       destination that overlap
///   `exists`            the destination is not empty
///   `retryable`         another run is packing into the destination
///   `interrupted`       progress.stop was set
///   `damaged`           every sample of a dataset was skipped
///   `changed`           a shard cannot be repaired because its samples have changed
///   `io`                reading or writing failed
/// and with OnError::fail the error of the first bad sample. To continue after an error, use DestinationMode::resume.
PackReport pack(const Source& source, const PackOptions& options, Progress& progress);

}  // namespace bale
