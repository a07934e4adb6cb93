// The stages of loading as a page: how long each takes per image, which one is the slowest, and what to try.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bale/tools/measure/pipeline.hpp"
#include "bale/tools/measure/trials/examination.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/report/text/peer_figures.hpp"

namespace bale::tools {

/// `headline` is the setting of the measurement in one line. `peers` are shown beside bale's whole pipeline.
std::string bench_page(const std::string& headline, std::span<const MeasuredStage> stages,
                       const std::optional<DeviceFigures>& device, std::span<const PeerFigure> peers);
std::string doctor_page(const std::string& headline, const PipelineCommand& pipeline, const Examination& examined,
                        std::span<const PeerFigure> peers);

}  // namespace bale::tools
