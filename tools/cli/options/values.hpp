// Parses the values of options: sizes, splits, jobs. Pure functions. Each throws `invalid_argument` with one line that
// names the option and the accepted values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/loader/transform/transform.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/survey/duplicates/spare_images.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/scale_out.hpp"
#include "bale/writer/source/sample_draw.hpp"

namespace bale::tools {

/// "1048576", "256MiB", "64MB", "1.5GiB": K, M, G, T alone or with "iB" are powers of 1024, with "B" powers
/// of 1000; letter case does not matter. Greater than zero.
std::uint64_t parse_size(std::string_view option, std::string_view text);

/// A decimal integer, 0 or above.
std::uint64_t parse_whole(std::string_view option, std::string_view text);

/// A decimal integer of at least 1.
std::uint64_t parse_positive(std::string_view option, std::string_view text);

/// "auto" is 0, else 1..1024.
unsigned parse_jobs(std::string_view option, std::string_view text);

/// "auto" is k_workers_auto, else 0..1024.
unsigned parse_workers(std::string_view option, std::string_view text);

/// A decimal integer from 1 to 2^32 - 1.
std::uint32_t parse_count32(std::string_view option, std::string_view text);

/// A JPEG quality, 1..100.
int parse_quality(std::string_view option, std::string_view text);

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

/// "train=0.95,val=0.05": names fit for a directory, fractions above 0 that sum to 1.
std::vector<Split> parse_splits(std::string_view option, std::string_view text);

/// "1000", or "5%", "0.5%": more than 0 and at most 100%. Sets `count` or `fraction`.
void parse_sample(std::string_view option, std::string_view text, SampleDraw& out);

/// "zstd" or "zstd:LEVEL" with a level of 1..19.
int parse_compression(std::string_view option, std::string_view text);

/// "fail", "skip" or "quarantine".
OnError parse_on_error(std::string_view option, std::string_view text);

/// "0/16" to "15/16".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_part(std::string_view option, std::string_view text);

/// "3,17,20..25": numbers, and ranges with both ends.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(std::string_view option, std::string_view text);

/// "none", "full", "block" or "block:SAMPLES,BLOCKS".
Shuffle parse_order(std::string_view option, std::string_view text);

/// "0.95": a correlation from 0.5 to 1.
double parse_similarity(std::string_view option, std::string_view text);

/// "first", "largest" or "smallest".
KeepRule parse_keep_rule(std::string_view option, std::string_view text);

/// "keep-one", "keep-all" or "drop-all".
ConflictRule parse_conflict_rule(std::string_view option, std::string_view text);

/// "jpg,json,png". No part may be empty.
std::vector<std::string> parse_list(std::string_view option, std::string_view text);

}  // namespace bale::tools
