// Parses the values of options of measuring and searching. Pure functions. Each throws `invalid_argument` with one line
// that names the option and the accepted values.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bale/loader/transform/transform.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/survey/duplicates/spare_images.hpp"

namespace bale::tools {

/// "auto" is k_workers_auto, else 0..1024.
unsigned parse_workers(std::string_view option, std::string_view text);

/// "train", "read,verify": stages of bench_stages.hpp.
std::vector<Stage> parse_stages(std::string_view option, std::string_view text);

/// "cpu" is nullopt, "cuda" the first CUDA device, "cuda:N" device N.
std::optional<int> parse_device(std::string_view option, std::string_view text);

/// "uint8", "float16", "bfloat16" or "float32".
DType parse_dtype(std::string_view option, std::string_view text);

/// "3", "0.5": seconds, more than 0 and at most a day.
double parse_seconds(std::string_view option, std::string_view text);

/// "100", "2.5": milliseconds, more than 0 and at most 86,400. Returns seconds.
double parse_milliseconds(std::string_view option, std::string_view text);

/// "none", "full", "block" or "block:SAMPLES,BLOCKS".
Shuffle parse_order(std::string_view option, std::string_view text);

/// "0.95": a correlation from 0.5 to 1.
double parse_similarity(std::string_view option, std::string_view text);

/// "first", "largest" or "smallest".
KeepRule parse_keep_rule(std::string_view option, std::string_view text);

/// "keep-one", "keep-all" or "drop-all".
ConflictRule parse_conflict_rule(std::string_view option, std::string_view text);

}  // namespace bale::tools
