// pack(): a Source into shards on disk. Converting is packing from a packed source.
//
// Shards are planned first, as a pure function of source and options, and then written whole by any
// number of jobs: the bytes never depend on `jobs`. A shard gets its final name only when it is complete
// and durable; manifest.json is written last of all. An interrupted run resumes with `resume`.
//
// Memory: `jobs` buffers of the largest sample each, the current shards' indexes, and the source's own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/format.hpp"
#include "bale/formats/core/manifest.hpp"
#include "bale/formats/core/progress.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// How samples are cut into shards; exactly one of the three is in force.
struct ShardSizing {
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;  // used where the other two are 0
  std::uint64_t shard_count = 0;
  std::uint64_t shard_samples = 0;
};

enum class OnError { fail, skip, quarantine };
std::string_view on_error_name(OnError policy);

/// What stands in the way of writing to a directory that is not empty.
enum class DestinationMode {
  fresh,      // refuse a directory that holds anything
  resume,     // go on with an interrupted run of the same plan
  overwrite,  // replace the dataset that is there: it stays until the new one is complete; never remove anything else
};

struct Split {
  std::string name;
  double fraction;
};

/// What is done to images before they are packed; nothing unless asked for. JPEG and PNG only.
struct ImageEdits {
  std::uint32_t resize_short = 0;  // shorter side in pixels, 0: as it is; larger images only, sides in proportion
  std::uint32_t resize_max = 0;    // longer side, likewise
  std::optional<int> quality{};    // 1..100, of JPEGs that are encoded anew; k_default_quality
  bool orient = false;             // turned as EXIF says, and the tag dropped
  bool strip_metadata = false;     // EXIF, XMP, colour profiles, comments, texts
  bool jpeg_lossless = false;      // JPEGs as baseline ones, the same pixels (formats/image/jpeg_lossless.hpp)

  static constexpr int k_default_quality = 90;
  bool resizes() const { return resize_short != 0 || resize_max != 0; }
};

struct PackOptions {
  std::string destination;
  FormatAndLayout format{};
  std::map<std::string, std::string> format_options{};
  std::string name{};          // of the dataset, and the shards' prefix; empty: default_name
  std::string default_name{};  // empty: the destination's last component
  ShardSizing sizing{};
  unsigned jobs = 0;                            // 0: two a core
  std::optional<std::uint64_t> shuffle_seed{};  // none: source order
  std::vector<Split> splits{};                  // each becomes a dataset in destination/NAME
  bool stratify = false;                        // split every class by the same fractions
  std::uint64_t max_samples = 0;                // 0: all
  std::optional<int> compress_level{};          // zstd on every field that is not an image
  ImageEdits edits{};
  std::uint64_t max_pixels = k_default_max_pixels;  // larger images are not decoded, so those that have to be are bad
  bool check_images = false;                        // decode every image, for what the index says of it
  bool entry_points = false;                        // of JPEGs, beside each shard (formats/image/entry_points.hpp)
  std::vector<std::string> sidecars{};  // names of files for other readers (Sidecar, ShardList) to be written besides
  OnError on_error = OnError::fail;
  DestinationMode mode = DestinationMode::fresh;
};

/// A sample that was left out.
struct SkippedSample {
  std::string origin;
  std::string why;
  std::vector<std::string> quarantined{};  // copies of its files, relative to the dataset's directory
  /// How many samples this stands for: a shard or directory that could not be read may be many. nullopt: nobody knows.
  std::optional<std::uint64_t> num_samples = 1;
};

struct PackReport {
  struct Output {
    std::string directory;
    Manifest manifest;
  };
  /// An older dataset whose place a new one took.
  struct Replaced {
    std::string directory;
    std::string name;
    std::uint64_t num_samples = 0;
  };
  std::vector<Output> outputs;  // one, or one a split
  std::vector<Replaced> replaced{};
  std::uint64_t num_samples = 0;
  std::uint64_t num_bytes = 0;            // of shard files
  std::uint64_t num_resumed_shards = 0;   // found finished by an earlier run
  std::uint64_t num_repaired_shards = 0;  // of a finished dataset, missing or damaged, and written again
  std::vector<SkippedSample> skipped;
  std::map<std::string, std::uint64_t> undecodable;  // packed images that the loader does not decode, by kind
};

/// What would be written: shard names with their samples and payload bytes.
struct PackPreview {
  struct ShardRow {
    std::string file;  // relative to the destination
    std::uint64_t num_samples;
    std::uint64_t payload_bytes;
  };
  std::vector<ShardRow> shards;
};

PackPreview preview_pack(const Source& source, const PackOptions& options);

/// Throws `exists` (destination not empty), `invalid_argument` (also if source and destination overlap), `io`,
/// `retryable` (another run has the destination), `interrupted`, and with
/// OnError::fail the error of the first bad sample.
PackReport pack(const Source& source, const PackOptions& options, Progress& progress);

}  // namespace bale
