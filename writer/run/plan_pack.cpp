// plan_pack(), the beginning of packing on many machines; and what a pack or a plan would write, without writing it.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/storage/objects/object_store.hpp"
#include "bale/writer/edits/image_edits.hpp"
#include "bale/writer/plan/dataset_files.hpp"
#include "bale/writer/plan/plan_file.hpp"
#include "bale/writer/publish/run_decision.hpp"
#include "bale/writer/run/objects/object_decision.hpp"
#include "bale/writer/run/objects/staging_directory.hpp"
#include "bale/writer/run/pack_run.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_max_measured = 32;

/// How large samples become.
class PayloadMeasure {
 public:
  PayloadMeasure(const Source& source, const PackOptions& options)
      : source_(source), options_(options), editor_(options.edits, !keeps_bytes_, options.max_pixels) {}

  void add(std::uint32_t number) {
    SourceSample described;
    source_.describe(number, described);
    try {
      const std::uint64_t bytes = bytes_of(source_.read(number, scratch_));
      bytes_ += bytes;
      described_bytes_ += described.total_bytes();
      is_exact_ = is_exact_ && bytes == described.total_bytes();
      ++count_;
    } catch (const Error& error) {
      if (is_lack_of_resources(error) || error.code() == ErrorCode::interrupted) throw;  // else a bad sample
    }
  }

  bool is_exact() const { return is_exact_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t scaled(std::uint64_t described) const {
    const double factor =
        described_bytes_ == 0 ? 1 : static_cast<double>(bytes_) / static_cast<double>(described_bytes_);
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(described) * factor));
  }

 private:
  std::uint64_t bytes_of(const SampleView& read) {
    const SampleView sample = editor_.apply(read);
    const FieldView* const image = sample.find_image();
    std::uint64_t bytes = 0;
    for (const FieldView& field : sample.fields) {
      if (keeps_bytes_ || &field != image) bytes += field.bytes.size();
    }
    return keeps_bytes_ || image == nullptr ? bytes : bytes + pixel_bytes(sample, image->bytes);
  }

  /// Of an image in a layout that stores pixels.
  std::uint64_t pixel_bytes(const SampleView& sample, Bytes image) const {
    constexpr std::uint64_t k_channels = 3;
    if (const auto size = options_.format_options.find("size"); size != options_.format_options.end()) {
      const std::uint64_t side = std::stoull(size->second);  // a writer has taken it: try_format_options()
      return side * side * k_channels;
    }
    const ImageHeader header = probe_image(image);
    const std::uint64_t width = header.width != 0 ? header.width : sample.width;
    const std::uint64_t height = header.height != 0 ? header.height : sample.height;
    return width * height * k_channels;
  }

  const Source& source_;
  const PackOptions& options_;
  const bool keeps_bytes_ = options_.format.layout->keeps_bytes;
  ImageEditor editor_;
  Scratch scratch_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t described_bytes_ = 0;
  bool is_exact_ = true;
};

}  // namespace

PackPreview preview_of(const Source& source, const PackOptions& options, const Plan& plan) {
  PayloadMeasure measure(source, options);
  const std::uint64_t step = std::max<std::uint64_t>(1, plan.num_samples / k_max_measured);
  PackPreview preview;
  std::uint64_t at = 0;
  for (const PlannedDataset& dataset : plan.datasets) {
    for (const std::uint32_t number : dataset.order) {
      if (at++ % step == 0 && measure.count() < k_max_measured) measure.add(number);
    }
    for (const PlannedShard& shard : dataset.shards) {
      preview.shards.push_back(
          {below_destination(dataset.subdirectory, shard.file), shard.end - shard.begin, shard.bytes});
    }
  }
  if (measure.is_exact()) return preview;
  preview.num_measured = measure.count();
  for (PackPreview::ShardRow& row : preview.shards) row.payload_bytes = measure.scaled(row.payload_bytes);
  return preview;
}

namespace {

bool is_same_directory(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

/// The plan of pack(), for a destination that may be packed to in parts.
Plan checked_plan(const Source& source, const PackOptions& options, const std::string& path) {
  require_local_name(options.destination, UrlUse::packing);
  const bool writes_objects = is_object_store(options.destination);
  if (options.on_error == OnError::quarantine) {
    throw Error(ErrorCode::invalid_argument, "parts of a plan have no quarantine",
                {.hint = "choose `on_error` fail or skip"});
  }
  if (options.mode != DestinationMode::fresh) {
    throw Error(ErrorCode::invalid_argument, "a plan is for a new destination",
                {.hint = "drop `resume` and `overwrite`: rerunning a part resumes it"});
  }
  require_apart(source.places(), options);
  Plan plan = make_plan(source, options);
  note_sizing(options, plan);
  try_format_options(options, StagingDirectory(writes_objects ? options.staging_directory : std::string{}).path());
  writes_objects ? require_empty_objects(options, plan) : require_may_begin(options, plan, {});
  if (is_same_directory(parent_directory(path), options.destination)) {
    throw Error(ErrorCode::invalid_argument, "the plan file is inside the destination",
                {.path = path, .hint = "keep it elsewhere"});
  }
  return plan;
}

}  // namespace

PackPreview preview_pack(const Source& source, const PackOptions& options) {
  require_local_name(options.destination, UrlUse::packing);
  const bool writes_objects = is_object_store(options.destination);
  require_apart(source.places(), options);
  const Plan plan = make_plan(source, options);
  note_sizing(options, plan);
  writes_objects ? require_may_run_objects(options, plan) : require_may_run(options, plan, samples_of(source, plan));
  try_format_options(options, StagingDirectory(writes_objects ? options.staging_directory : std::string{}).path());
  return preview_of(source, options, plan);
}

PackPreview preview_plan(const Source& source, const PackOptions& options, const std::string& path) {
  const Plan plan = checked_plan(source, options, path);
  (void)source.save_head();
  return preview_of(source, options, plan);
}

PlanReport plan_pack(const Source& source, const PackOptions& options, const std::string& path) {
  const Plan plan = checked_plan(source, options, path);
  PlanFile::write(path, source, options, plan);
  PlanReport report{
      .digest = PlanFile::open(path).digest(), .num_samples = plan.num_samples, .num_bytes = plan.num_bytes};
  for (const PlannedDataset& dataset : plan.datasets) report.num_shards += dataset.shards.size();
  return report;
}

}  // namespace bale
