#include "bale/writer/shard/shard_job.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <new>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/names/contained_name.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/base/text/escaped_bytes.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/image/image_check.hpp"
#include "bale/formats/image/jpeg/planes/planes_field.hpp"
#include "bale/formats/image/jpeg/seek_points.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/shard/seek_point_file.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/formats/shard/shard_name.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan.hpp"
#include "bale/writer/source/classes/labels.hpp"

namespace bale {
namespace {

/// Asks the kernel to read samples ahead while reads are slow. With a warm page cache the request costs as much as it
/// saves.
class SlowReadHint {
 public:
  /// Whether to announce the sample that is `k_distance` ahead.
  bool wanted() const { return slow_reads_left_ > 0; }
  void read_took(std::chrono::steady_clock::duration time) {
    if (time > k_slow) {
      slow_reads_left_ = k_patience;
    } else if (slow_reads_left_ > 0) {
      --slow_reads_left_;
    }
  }
  static constexpr std::uint64_t k_distance = 16;

 private:
  static constexpr std::chrono::microseconds k_slow{300};  // a small image in the page cache is read faster
  static constexpr int k_patience = 256;
  int slow_reads_left_ = 0;
};

/// Of fields that are compressed only because of their names.
constexpr int k_least_level = 1;

/// Fields in stored form: compressed or passed on unchanged, as the options say.
class StoredFields {
 public:
  explicit StoredFields(const PackOptions& options) : options_(options) {}

  std::span<const FieldView> store(const SampleView& sample) {
    stored_.clear();
    names_.resize(sample.fields.size());
    buffers_.resize(std::max(buffers_.size(), sample.fields.size()));
    InflationBudget budget;
    for (std::size_t f = 0; f < sample.fields.size(); ++f) {
      const FieldView& field = sample.fields[f];
      const Codec codec = codec_of_field(options_, field.name);
      if (codec == Codec::none) {
        stored_.push_back(field);
        continue;
      }
      names_[f] = FieldInfo{.name = std::string(field.name), .codec = codec}.stored_name();
      if (codec == Codec::planes) {
        const std::string_view why_not = make_planes(field.bytes, buffers_[f]);
        ++jpegs_[std::string(why_not.empty() ? name_of(codec) : why_not)];
        stored_.push_back({names_[f], buffers_[f]});
        continue;
      }
      zstd_compress(field.bytes, options_.compress_level.value_or(k_least_level), buffers_[f]);
      if (!budget.take(buffers_[f].size(), field.bytes.size())) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("field {} compresses from {} to {} bytes; readers would reject it as a decompression bomb",
                        printable(field.name), field.bytes.size(), buffers_[f].size()),
            {.key = std::string(sample.key), .hint = "pack without compressing fields"});
      }
      stored_.push_back({names_[f], buffers_[f]});
    }
    return stored_;
  }
  /// PackReport::jpegs
  const std::map<std::string, std::uint64_t>& jpegs() const { return jpegs_; }

 private:
  const PackOptions& options_;
  std::vector<FieldView> stored_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::byte>> buffers_;
  std::map<std::string, std::uint64_t> jpegs_;
};

/// The index entry of the sample's image. Its header says its size, whatever the source says. Throws if the image
/// cannot be decoded, and such images are to be left out.
ImageEntry look_at_image(const SampleView& sample, const PackOptions& options) {
  ImageEntry entry{.width = sample.width, .height = sample.height};
  const FieldView* const image = sample.find_image();
  if (image == nullptr) return entry;
  const ImageFacts facts =
      check_image(image->bytes, options.check_images ? ImageCheck::decode : ImageCheck::quick, options.max_pixels);
  // An array without pixels, such as features, is not an image.
  if (options.leaves_out_undecodable() && !facts.why.empty() && image->name != k_array_field) {
    throw Error(facts.is_supported ? ErrorCode::damaged : ErrorCode::unsupported, facts.why);
  }
  entry.condition = facts.condition;
  if (facts.width != 0) {
    entry.width = facts.width;
    entry.height = facts.height;
  }
  return entry;
}

/// The source's fields, and after those of its images the one of images that are encoded again as another kind.
std::vector<std::string> fields_of(const ShardJob& job) {
  std::vector<std::string> fields = job.source.fields();
  const bool encodes = job.options.edits.resizes() || job.options.edits.orient;
  const bool is_known = std::find(fields.begin(), fields.end(), k_encoded_field) != fields.end();
  if (encodes && !is_known)
    fields.emplace(std::find_if_not(fields.begin(), fields.end(), is_image_field), k_encoded_field);
  return fields;
}

/// `payload` gets the bytes of each sample as the source describes them, of which the plan has the sum.
ShardPlan shard_plan(const ShardJob& job, std::vector<std::uint64_t>& payload) {
  ShardPlan plan{.num_samples = job.shard.end - job.shard.begin};
  for (const std::string& name : fields_of(job)) {
    plan.fields.push_back({.name = FieldInfo{.name = name, .codec = codec_of_field(job.options, name)}.stored_name()});
  }
  SourceSample sample;
  for (std::uint64_t at = job.shard.begin; at < job.shard.end; ++at) {
    job.source.describe(job.dataset.sample(at), sample);
    payload.push_back(sample.total_bytes());
    plan.key_bytes += sample.key.size();
    for (const SourceSample::Field& field : sample.fields) {
      if (field.id >= job.source.fields().size()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("field {} of a source that has {}", field.id, job.source.fields().size()),
                    {.path = job.source.origin(job.dataset.sample(at)), .key = sample.key});
      }
      plan.fields[field.id].num_samples += 1;
      plan.fields[field.id].bytes += field.bytes;
    }
  }
  return plan;
}

/// Digest of a file that only this process uses, so that it may be mapped: half the cost of copying it out again.
Digest digest_mapped(const std::string& path) {
  const FileMapping mapping(path);
  DigestStream stream;
  stream.update(mapping.bytes());
  return stream.digest();
}

/// Suffix of a quarantined file's copy until the copy gets its name.
constexpr std::string_view k_quarantined_suffix = ".quarantined";

void sync_path(const std::string& path) { File::open_update(path).sync(); }

/// Temporary files of a shard, removed unless kept.
class Staged {
 public:
  Staged(const std::string& path, const std::vector<Sidecar>& sidecars) : path_(path), sidecars_(sidecars) {}
  ~Staged() {
    if (kept_) return;
    ::unlink(path_.c_str());
    try {
      ::unlink(index_path(path_).c_str());
      ::unlink(seek_point_path(path_).c_str());
      for (const Sidecar& sidecar : sidecars_) ::unlink(staged_sidecar(path_, sidecar).c_str());
    } catch (const std::bad_alloc&) {  // a later run removes them
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  void keep() { kept_ = true; }

 private:
  const std::string& path_;
  const std::vector<Sidecar>& sidecars_;
  bool kept_ = false;
};

class ShardRun {
 public:
  ShardRun(const ShardJob& job, Progress& progress)
      : job_(job),
        progress_(progress),
        editor_(job.options.edits, !keeps_bytes_, job.options.max_pixels),
        stored_(job.options) {
    for (const std::string& name : fields_of(job)) index_.add_field(name, codec_of_field(job.options, name));
  }

  FinishedShard run() {
    const auto [format, layout] = job_.options.format;
    Staged staged(job_.staged_path, sidecars_);
    writer_ = format->create({.path = job_.staged_path,
                              .layout = layout->name,
                              .plan = shard_plan(job_, payload_),
                              .format_options = job_.options.format_options,
                              .class_names = job_.source.classes()});
    for (std::uint64_t at = job_.shard.begin; at < job_.shard.end; ++at) {
      progress_.throw_if_stopped();
      const std::uint64_t ahead = at + SlowReadHint::k_distance;
      if (read_ahead_.wanted() && ahead < job_.shard.end) job_.source.will_need(job_.dataset.sample(ahead));
      pack_sample(job_.dataset.sample(at));
      // As planned, so that the sum is the total: what was written of it may be larger or smaller.
      progress_.bytes.fetch_add(payload_[at - job_.shard.begin], std::memory_order_relaxed);
    }
    // Not every container can be empty, and not every reader accepts an empty one.
    if (index_.size() == 0) {
      writer_.reset();
      return {.subdirectory = job_.dataset.subdirectory,
              .shard = {.file = job_.shard.file},
              .skipped = std::move(skipped_),
              .on_error = std::string(on_error_name(job_.options.on_error))};
    }
    writer_->finish(index_);
    writer_.reset();
    sync_path(job_.staged_path);
    if (!keeps_bytes_) {
      // The shard delivers other bytes than were packed: checksums can only be taken from the shard itself.
      checksum_payload(index_, job_.staged_path, *format, {}, {});
    }
    FinishedShard finished = publish_index();
    staged.keep();
    return finished;
  }

 private:
  /// Throws unless the sample is what its source, which may be a program's, says of it: its key, and fields and class
  /// that the source names.
  void check(std::uint32_t number, const SampleView& sample) {
    try {
      job_.source.describe(number, described_);
      if (sample.key != described_.key) {
        throw Error(ErrorCode::invalid_argument, fmt::format("its source calls it \"{}\"", printable(described_.key)));
      }
      if (job_.options.format.layout->keys_name_files && leads_outside(sample.key)) {
        throw Error(ErrorCode::invalid_argument, "a key that leads outside its directory names no file",
                    {.hint = "choose another format"});
      }
      for (const FieldView& field : sample.fields) {
        if (index_.field_id(field.name)) continue;
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a field \"{}\" that its source does not name", printable(field.name)));
      }
      if (sample.label >= 0) require_class(sample.label, job_.source.classes());
    } catch (const Error& error) {
      throw Error(error.code(), error.message(),
                  {.path = job_.source.origin(number), .key = std::string(sample.key), .hint = error.context().hint});
    }
  }

  void pack_sample(std::uint32_t number) {
    std::optional<SampleView> sample;
    try {
      const auto begin = std::chrono::steady_clock::now();
      const SampleView read = job_.source.read(number, scratch_);
      read_ahead_.read_took(std::chrono::steady_clock::now() - begin);
      check(number, read);
      const SampleView ready = edited(number, read);
      const ImageEntry entry = looked_at(number, ready);
      sample = ready;
      add_from(number, *sample, entry);
    } catch (const Error& error) {
      const bool writing_failed = sample.has_value() && error.code() != ErrorCode::invalid_argument;
      const bool policy_applies = job_.options.on_error != OnError::fail && error.code() != ErrorCode::interrupted;
      if (job_.fixed_source && error.code() == ErrorCode::changed) throw;
      if (writing_failed || is_lack_of_resources(error) || !policy_applies) throw;
      // A file of a folder that cannot be read is one sample; a shard that cannot be read, or has changed, is many good
      // ones.
      if (is_in_shard(number, error) && !is_data_error(error)) throw;
      skip(number, error);
    }
    progress_.samples.fetch_add(1, std::memory_order_relaxed);
  }

  bool is_in_shard(std::uint32_t number, const Error& error) const {
    if (remote_storage_of(error.context().path) != nullptr) return true;
    return job_.source.files(number).empty() && !job_.source.places().empty();
  }

  SampleView edited(std::uint32_t number, const SampleView& sample) {
    if (!edits_images_) return sample;
    try {
      const bool changes_size = job_.options.edits.resizes() || job_.options.edits.orient;
      if (changes_size || job_.options.format_options.contains("size")) require_one_image(sample);
      return editor_.apply(sample);
    } catch (const Error& error) {
      // The editor knows only the bytes, not where they come from.
      throw Error(error.code(), error.message(), {.path = job_.source.origin(number), .hint = error.context().hint});
    }
  }

  ImageEntry looked_at(std::uint32_t number, const SampleView& sample) const {
    try {
      return look_at_image(sample, job_.options);
    } catch (const Error& error) {
      throw Error(error.code(), error.message(), {.path = job_.source.origin(number), .hint = error.context().hint});
    }
  }

  void add_from(std::uint32_t number, const SampleView& sample, const ImageEntry& entry) {
    try {
      add(sample, entry);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      // The writer knows only its temporary file, but the sample is what does not fit.
      ErrorContext context = error.context();
      context.path = job_.source.origin(number);
      throw Error(error.code(), error.message(), std::move(context));
    }
  }

  /// Images that the loader cannot decode are packed anyway, and counted: those of other kinds, and those that the
  /// decoder refused.
  void note_kind(const SampleView& sample, ImageCondition condition) {
    const FieldView* const image = sample.find_image();
    const bool is_refused = condition == ImageCondition::undecodable;
    if (image == nullptr || (!is_refused && as_text(image->bytes).starts_with("\xFF\xD8"))) return;
    const ImageKind kind = probe_image(image->bytes).kind;
    if (is_refused || !can_decode(kind)) ++undecodable_[std::string(image_kind_name(kind))];
  }

  void add(const SampleView& sample, const ImageEntry& entry) {
    SampleView stored = sample;
    stored.fields = stored_.store(sample);
    stored.width = entry.width;
    stored.height = entry.height;
    writer_->add(stored);
    const std::uint64_t i = index_.add_sample(sample.key, sample.label, stored.width, stored.height);
    // A layout that stores pixels has already decoded the image.
    index_.set_condition(i, !keeps_bytes_ && entry.width != 0 ? ImageCondition::complete : entry.condition);
    if (keeps_bytes_) {
      for (const FieldView& field : sample.fields)
        index_.set_crc32c(i, *index_.field_id(field.name), crc32c(field.bytes));
    }
    note_kind(sample, entry.condition);
    if (job_.options.seek_points) seek_points_.add(make_seek_points(image_of(sample)));
  }

  /// The image that readers use: ShardIndex::image_field().
  Bytes image_of(const SampleView& sample) const {
    for (const FieldInfo& info : index_.fields()) {
      const FieldView* const field = is_image_field(info.name) ? sample.find(info.name) : nullptr;
      if (field != nullptr) return field->bytes;
    }
    return {};
  }

  void skip(std::uint32_t number, const Error& error) {
    skipped_.push_back({job_.source.origin(number), why_skipped(error)});
    if (job_.options.on_error == OnError::quarantine) {
      skipped_.back().quarantined =
          job_.quarantine.add(dataset_directory(job_.options, job_.dataset), job_.source.files(number),
                              job_.staged_path + std::string(k_quarantined_suffix));
    }
    progress_.skipped.fetch_add(1, std::memory_order_relaxed);
  }

  FinishedShard publish_index() {
    const std::uint64_t bytes = File::open_read(job_.staged_path).size();
    const Digest digest = digest_mapped(job_.staged_path);
    const Digest ends = digest_file_ends(job_.staged_path);
    const ShardIndex index =
        ShardIndex::from_bytes(index_.build(bytes, digest, true, job_.shard.file, ends), job_.shard.file);
    write_durably(index_path(job_.staged_path), index.bytes());
    FinishedShard finished{
        .subdirectory = job_.dataset.subdirectory,
        .shard = {.file = job_.shard.file, .digest = digest_text(digest), .num_samples = index_.size(), .bytes = bytes},
        .skipped = std::move(skipped_),
        .on_error = std::string(on_error_name(job_.options.on_error)),
        .checked_images = job_.options.check_images,
        .undecodable = std::move(undecodable_),
        .jpegs = stored_.jpegs()};
    for (const FieldInfo& field : index.fields()) {
      finished.fields.push_back(
          {.name = field.name, .codec = std::string(name_of(field.codec)), .stored_bytes = field.stored_bytes});
    }
    if (job_.options.seek_points) {
      write_durably(seek_point_path(job_.staged_path), seek_points_.build(bytes));
      finished.shard.sidecars.push_back(seek_point_path(job_.shard.file));
    }
    const Layout& layout = *job_.options.format.layout;
    for (const Sidecar& sidecar : sidecars_) {
      write_durably(staged_sidecar(job_.staged_path, sidecar), as_bytes(sidecar.text(job_.staged_path, index)));
      finished.shard.sidecars.push_back(sidecar_path(job_.shard.file, layout, sidecar));
    }
    return finished;
  }

  const ShardJob& job_;
  Progress& progress_;
  std::unique_ptr<ShardWriter> writer_;
  IndexBuilder index_;
  SeekPointFileBuilder seek_points_;
  Scratch scratch_;
  SourceSample described_;  // of the sample that is packed
  SlowReadHint read_ahead_;
  const std::vector<Sidecar> sidecars_ = sidecars_of(*job_.options.format.layout, job_.options.sidecars);
  const bool keeps_bytes_ = job_.options.format.layout->keeps_bytes;
  const bool edits_images_ = !keeps_bytes_ || !describe_edits(job_.options.edits, !keeps_bytes_).empty();
  ImageEditor editor_;
  StoredFields stored_;
  std::vector<std::uint64_t> payload_;  // of each sample, as planned
  std::vector<SkippedSample> skipped_;
  std::map<std::string, std::uint64_t> undecodable_;
};

}  // namespace

std::string staged_sidecar(const std::string& staged_path, const Sidecar& sidecar) {
  return staged_path + std::string(sidecar.suffix);
}

FinishedShard write_shard(const ShardJob& job, Progress& progress) {
  try {
    return ShardRun(job, progress).run();
  } catch (const Error& error) {
    ErrorContext context = error.context();
    if (!context.path.starts_with(job.staged_path)) throw;
    // The user does not know the temporary name, and the file no longer exists when the message is read.
    context.path.replace(0, job.staged_path.size(),
                         join_path(dataset_directory(job.options, job.dataset), job.shard.file));
    throw Error(error.code(), error.message(), std::move(context));
  }
}

}  // namespace bale
