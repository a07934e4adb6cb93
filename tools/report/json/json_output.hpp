// Results as JSON text, each ending in a newline.
//
// Names, paths and keys are strings if they are UTF-8, else {"hex": "..."} (formats/base/json/json.hpp), so that no
// byte is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/formats/shard/sample.hpp"
#include "bale/formats/storage/remote_cache.hpp"
#include "bale/reader/fetch_dataset.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/verdicts/doctor_verdict.hpp"
#include "bale/tools/measure/verdicts/tune_verdict.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/writer/index/add_indexes.hpp"
#include "bale/writer/source_diff.hpp"

namespace bale::tools {

/// `points`: if seek points were made.
std::string index_json(const std::string& spec, const AddedIndexes& indexes, std::uint64_t num_sidecars,
                       const std::optional<AddedSeekPoints>& points);

/// `listed`: the first of the `num_differences` that were found.
std::string diff_json(const DiffReport& report, std::uint64_t num_differences, std::span<const Difference> listed,
                      const NoticeLog& notices);

struct SampleRow {
  struct Field {
    std::string name;
    std::uint64_t bytes;  // as stored
  };
  std::uint64_t index = 0;
  std::string key;
  std::int64_t label = k_no_label;
  std::string class_name;  // empty: none
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<Field> fields;
  std::string shard;
};
/// One line.
std::string sample_json(const SampleRow& row);

struct ReadRates {
  std::uint64_t epochs = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};
std::string read_json(const ReadRates& rates);

/// The figures of the train stage if it was measured, an object `stages` with those of every stage, and `device` if
/// there is one.
std::string bench_json(const PipelineCommand& pipeline, std::span<const MeasuredStage> stages,
                       const std::optional<DeviceFigures>& device);
/// `best`: the row that is recommended, unless no_verdict() gives a reason against it. `decoding`: if it was compared.
std::string tune_json(const PipelineCommand& pipeline, std::span<const TuneRow> rows, const TuneRow& best,
                      double read_images_per_s, unsigned cores, const std::optional<DecodingFigures>& decoding);
std::string doctor_json(const PipelineCommand& pipeline, const DoctorFigures& figures);

// Results of `bale cache` as JSON text, each ending in a newline.

std::string cache_json(const RemoteCache& cache, const std::vector<RemoteCache::File>& files);
std::string cache_check_json(const RemoteCache::CheckReport& report);
std::string cache_removal_json(const RemoteCache& cache, std::uint64_t removed, bool is_dry_run);
std::string cache_fetch_json(const RemoteCache& cache, const FetchList& plan, bool is_dry_run);

}  // namespace bale::tools
