// The pages: the report on a dataset, and the stages of loading.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/trials/examination.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/report/text/survey_report.hpp"

namespace bale::tools {

// The report on a dataset as a page.

struct PageLimits {
  std::uint64_t pictures_per_class = 0;  // 0: 12, and fewer of many classes
  std::uint64_t listed = 50;             // images per remark, and groups of duplicates per kind
};

/// Reads the samples that it shows again. Lists that are cut say so.
std::string survey_page(const SurveyReport& report, const PageLimits& limits);

/// The stages of loading as a page: how long each takes per image, which one is the slowest, and what to try.
/// `headline` is the setting of the measurement in one line. `peers` are shown next to bale's whole pipeline.
std::string bench_page(const std::string& headline, std::span<const MeasuredStage> stages,
                       const std::optional<DeviceFigures>& device, std::span<const PeerFigure> peers);
std::string doctor_page(const std::string& headline, const PipelineCommand& pipeline, const Examination& examined,
                        std::span<const PeerFigure> peers);

}  // namespace bale::tools
