// Source: the samples to pack, from a folder, a list, a table or a packed dataset.
//
// A Source knows number, keys, labels and sizes of its samples before it reads any, so that packing can be planned.
// Samples are numbered 0 to size() - 1 in the source's own order (torchvision's ImageFolder's for folders).
//
// Memory: at most about 100 bytes per sample. Field bytes are not kept.
// Threads: const methods may be called by many threads at once, each with its own Scratch.
// Preconditions: sample numbers are below size().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/formats/shard/sample.hpp"

namespace bale {

/// What is known about a sample without reading it.
struct SourceSample {
  std::string key;  // unique in the source, encoded if the layout needs it (encode_key())
  std::int64_t label = k_no_label;
  struct Field {
    std::uint32_t id;     // position in Source::fields()
    std::uint64_t bytes;  // expected size
  };
  std::vector<Field> fields;  // sorted by id
  std::uint64_t total_bytes() const {
    std::uint64_t sum = 0;
    for (const Field& field : fields) sum += field.bytes;
    return sum;
  }
};

/// What the labels of a source are read as: numbers of classes, or names that get numbers.
enum class LabelReading : std::uint8_t { none, numbers, names };
constexpr std::string_view label_reading_name(LabelReading reading) {
  return reading == LabelReading::none ? "none" : reading == LabelReading::numbers ? "numbers" : "names";
}

/// Where the labels of a source come from.
struct LabelOrigin {
  LabelReading reading = LabelReading::none;  // none: no sample has a label
  std::string column{};                       // of a table; else empty
  std::uint64_t num_missing = 0;              // rows of a table without a label
  bool is_after_path = false;                 // of a list
};

/// A file that belongs to a sample.
struct SourceFile {
  std::string path;        // path to open
  std::string below_root;  // path below the source's root, without ".."
};

/// What a condition can ask of a sample, and a condition (bale/reader/where.hpp).
struct SampleFacts;
struct WhereCounts;
class Where;

/// A directory or shard that could not be listed or opened, or a sample that was left out: its samples are missing.
struct SourceLoss {
  std::string path;
  std::string why;                             // one line
  std::optional<std::uint64_t> num_samples{};  // nullopt: unknown
  std::vector<SourceFile> files{};             // of a sample that was left out, to quarantine
};

class Source {
 public:
  virtual ~Source() = default;

  virtual std::uint64_t size() const = 0;
  /// Every field name that occurs, the image field first.
  virtual const std::vector<std::string>& fields() const = 0;
  /// Class name of label 0, 1, ...; empty if the classes have no names.
  virtual const std::vector<std::string>& classes() const = 0;
  virtual LabelOrigin label_origin() const { return {}; }
  /// Earlier changes to the images, by name of the edit (Manifest::edits).
  virtual std::map<std::string, std::string> edits() const { return {}; }
  /// The directories and files that it reads from. A destination must not overlap with them.
  virtual std::vector<std::string> places() const { return {}; }
  /// Keys are `encoded` because the destination cannot store them unchanged.
  virtual KeyForm key_form() const { return KeyForm::plain; }
  /// k_no_label if the sample has none.
  virtual std::int64_t label(std::uint64_t i) const = 0;
  /// Overwrites `out`. Reuse it to avoid allocations.
  virtual void describe(std::uint64_t i, SourceSample& out) const = 0;

  /// Reads sample `i`. The view borrows from `scratch`, until it is used again, and from this Source. Throws
  /// `bale::Error` for a bad sample, which cannot be read, does not exist anymore or changed while it was read.
  virtual SampleView read(std::uint64_t i, Scratch& scratch) const = 0;
  /// A name of the sample for messages: a path, or key and shard.
  virtual std::string origin(std::uint64_t i) const = 0;
  /// Files that hold sample `i` and nothing else. Empty for a sample of a shard.
  virtual std::vector<SourceFile> files(std::uint64_t) const { return {}; }
  /// A hint: asks the kernel to read the sample ahead. Never fails.
  virtual void will_need(std::uint64_t i) const = 0;

  /// Appends to `out` a line that identifies the content of sample `i` without reading it: key, sizes, mtime, label. It
  /// is hashed into the plan, by which a resumed run knows whether it continues the same work.
  virtual void fingerprint(std::uint64_t i, std::string& out) const = 0;

  /// What another process needs next to the rows of save() to read the samples (SavedSource): JSON text. Throws
  /// `unsupported` if this source cannot be saved.
  virtual std::string save_head() const;
  /// Appends sample `i` to `out` in the form that SavedRows::add() takes.
  virtual void save(std::uint64_t i, std::string& out) const;

  /// Fills `out` and returns true if all that a condition can ask is known without reading the sample, as in a packed
  /// dataset.
  virtual bool facts(std::uint64_t, SampleFacts&) const { return false; }

  /// What was skipped while listing: other files, archive members that are not fields, patterns that match nothing,
  /// options without effect.
  virtual const NoticeLog& notices() const = 0;

  /// A function that adds what reading the samples has shown, also when the source is gone. Empty if that shows
  /// nothing.
  virtual std::function<void(NoticeLog& log)> read_notices() const { return {}; }

  /// With SourceOptions::skip_damaged: directories and shards that could not be listed or opened.
  virtual std::vector<SourceLoss> losses() const { return {}; }
};

struct SourceOptions {
  std::string kind{};                    // one of source_kinds(); empty: detect_source()
  std::vector<std::string> include{};    // patterns on the path below the root (NameFilter); empty: everything
  std::vector<std::string> exclude{};    // likewise; empty: nothing
  std::string class_map{};               // path of a file that ClassMap reads, or of a packed dataset: its classes
  std::vector<std::string> pair{};       // extensions of the files that make up a sample, the image's first
  std::vector<std::string> pair_path{};  // FIELD=PATTERN: path of a paired file not next to the image (PairPath)
  std::vector<std::string>
      annotations{};                 // files or directories: the source is a folder of images with boxes or captions
  std::string annotations_format{};  // one of annotation_formats(); empty: by their content
  bool allow_empty = false;          // torchvision's allow_empty
  bool allow_unlabeled = false;      // rows of a table without a label are samples without one
  bool may_lack_images = false;      // the same, for a command that looks at what is there, whatever kind the source is
  std::string path_column{};         // of a table; empty: path, file_name, filename, file, image, ...
  std::string path_pattern{};        // of a table: the path, with {COLUMN} for a row's cell; empty: path_column
  std::string label_column{};        // of a table; empty: label, class, target or y
  std::string root{};                // directory of relative paths in lists and tables
  bool nul_separated = false;        // a list is separated by NUL instead of newlines
  bool keys_name_files = true;       // Layout::keys_name_files of the layout to write
  bool class_folders = false;        // a packed source without labels: classes are the first folders of its keys
  bool flat = false;                 // a folder without class folders: no labels
  bool keep_extensions = false;      // keys of files keep their extensions, so that x.jpg and x.png are two samples
  unsigned list_jobs = 0;            // threads that list directories and examine files; 0: 8
  bool skip_damaged = false;         // leave out directories and shards that cannot be read: Source::losses()
  bool strict = false;               // images of another size than annotations say, changed files: bad samples
  bool are_shared = false;           // with other sources: those without a meaning for this one are fine
};

/// Opens a folder as torchvision's ImageFolder does: classes are the sorted first-level directories, samples the image
/// files below them, in torchvision's order: also those of kinds that only bale decodes. Throws `not_found` if the
/// folder does not exist, `invalid_argument` if it has no images or a class has none, and `io`.
std::unique_ptr<Source> open_folder_source(const std::string& path, const SourceOptions& options);
/// Opens a list of files: one path per line, from a file or "-" (standard input). Classes are the names of the files'
/// parent directories. JSON that lists images by class, as Food-101's {"class": ["class/id", ...]}, names the classes.
std::unique_ptr<Source> open_list_source(const std::string& path, const SourceOptions& options);
/// Opens a .csv file with a header, whose cells end at a comma or else at | ; or a tab, a .tsv file, or a .jsonl file
/// with one object per line. Additional columns become the `json` field; if an image has several rows, all samples have
/// a list of their rows there.
std::unique_ptr<Source> open_table_source(const std::string& path, const SourceOptions& options);
/// Opens the images below a folder, or of a list, with SourceOptions::annotations, which become fields
/// (docs/FIELDS.md): COCO's JSON, Pascal VOC's directory Annotations or a list of ImageSets, YOLO's labels or
/// data.yaml, Open Images' table of boxes. Samples have no label; classes() are those of the boxes. COCO's images and
/// those of ImageSets are packed in their order, else all images in Python's order. Images without annotations are
/// samples without boxes. Throws `damaged` for annotations without an image (with skip_damaged they are losses()).
std::unique_ptr<Source> open_annotated_source(const std::string& path, const SourceOptions& options);
/// "coco", "voc", "yolo" and, to say what its lines hold, "yolo-polygons" and "yolo-pose", "openimages".
std::vector<std::string> annotation_formats();
/// Opens a packed dataset of any format, also of other tools. Throws what Dataset::open() throws.
std::unique_ptr<Source> open_packed_source(const std::string& spec, const SourceOptions& options);
/// The samples of `source` that the condition selects, in the source's order, with all of its classes, so that labels
/// stay the same. `index` in a condition is a number in the source; `shard` is known of packed datasets only. For the
/// size of an image in a file, the file is read, on `jobs` threads (0: one per core); a sample that cannot be read is
/// kept, so that packing reports it. Adds to `counts`. Throws `invalid_argument` if no sample is left, or if the
/// condition names what this source does not have.
std::unique_ptr<Source> filter_source(std::unique_ptr<Source> source, const Where& where, unsigned jobs,
                                      WhereCounts& counts);
/// The result of exclude_listed().
struct ExcludeCounts {
  std::uint64_t num_names = 0;      // in the list, each once
  std::uint64_t num_excluded = 0;   // samples
  std::uint64_t num_unmatched = 0;  // names that are of no sample
  std::string first_unmatched{};    // raw bytes
};
/// The samples of `source` that the file `list` does not name, in the source's order, with all classes. The list has
/// one name per line, or ended by NUL if it contains NUL: the path of a sample's image, below the source's root, as it
/// is opened or absolute, or the key, as `bale ls` prints it and not encoded. A name that is a path is not taken as a
/// key. One that is neither may be a directory, with all in it. A byte order mark, Windows' line ends, and lines that
/// begin with # and name nothing are ignored. Adds to `counts`. Throws `invalid_argument` if no sample is left, and
/// what opening the list throws.
std::unique_ptr<Source> exclude_listed(std::unique_ptr<Source> source, const std::string& list, ExcludeCounts& counts);
/// The samples of `source` without those whose key an earlier one has, such as x.png after x.jpg: these become
/// losses().
std::unique_ptr<Source> leave_out_repeated_keys(std::unique_ptr<Source> source);
/// "folder", "list", "table", "packed", and the name of each format.
std::vector<std::string> source_kinds();

/// The result of detect_source().
struct DetectedSource {
  std::string kind;    // one of source_kinds()
  std::string note{};  // message for the user with the reason, if the case is not clear; else empty
};
/// Guesses the kind of a source. A directory with a manifest.json, a shard spec and any other file is "packed"; a file
/// with a table's suffix is "table"; a file of no format whose name ends in .txt or whose first line is the path of a
/// file is "list"; any other directory is "folder", unless more of its files are named as shards than as images. Throws
/// `not_found` if `spec` does not exist, `invalid_argument` for a directory of datasets.
DetectedSource detect_source(const std::string& spec, const SourceOptions& options);

/// The options of each of several sources: without those that only another kind has, if another of them is of that
/// kind. Throws what detect_source() throws.
std::vector<SourceOptions> options_of_each(const std::vector<std::string>& specs, const SourceOptions& options);

/// Opens `spec` as SourceOptions::kind or detect_source() says, which lists a directory once for both. `on_note`, if
/// not empty, gets DetectedSource::note before the source is opened, unless that is empty. Throws what they and the
/// functions above throw, and `invalid_argument` for an unknown kind.
std::unique_ptr<Source> open_source(const std::string& spec, const SourceOptions& options,
                                    const std::function<void(const std::string& note)>& on_note = {});

}  // namespace bale
