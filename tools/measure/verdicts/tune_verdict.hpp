// The interpretation of the settings that `bale tune` measured. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bale/tools/measure/bench_device.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/process_usage.hpp"

namespace bale::tools {

/// One setting and its measurement.
struct TuneRow {
  unsigned workers = 0;
  std::uint32_t prefetch = 0;
  StageResult result;
  double cpu_share = 0;      // of the cores, used by this program and its workers; 1: all cores all the time
  double machine_share = 0;  // of the cores, used by all processes
  double io_wait_share = 0;  // of the cores, idle while a read or write was running

  /// Sets the shares from the machine's times before and after the measurement.
  void add_shares(const MachineTimes& before, const MachineTimes& after, unsigned cores);
};

/// Numbers of workers to try: 0, 1, 2, 4, ... up to twice `cores`, and `cores` itself.
std::vector<unsigned> worker_steps(unsigned cores);

/// The index of the smallest setting (by workers, then by prefetch) within a few percent of the fastest.
std::size_t recommended(std::span<const TuneRow> rows);

enum class Bound { cpu, other_programs, storage, consumer, workers };
/// "cpu", "other programs", "storage", "consumer", "workers".
std::string_view bound_name(Bound bound);

/// What limits the rate of `row`, if reading alone reaches `read_images_per_s`.
Bound bound_of(const TuneRow& row, double read_images_per_s);
/// One sentence: what that means and what to do about it.
std::string_view bound_advice(Bound bound);

/// Why `best`, the fastest row, is not a basis for a recommendation.
enum class NoVerdict { nothing_decoded, machine_too_busy };
std::optional<NoVerdict> no_verdict(const TuneRow& best, double read_images_per_s);
/// One or two sentences: why no setting is recommended, and what to do.
std::string no_verdict_text(NoVerdict why, const TuneRow& best);

/// Who decoded batches on a device, and how fast.
struct DecodingFigures {
  DecodingTrial host;
  DecodingTrial device;
};
/// Whether the device decoded faster by more than measurements scatter.
bool device_decodes_faster(const DecodingFigures& figures);
/// One or two sentences: what to do about it.
std::string decoding_advice(const DecodingFigures& figures);

/// What the stages that `bale bench` measured say together. Pure functions.
/// The stage that limits loading: read if reading alone is hardly faster than the pipeline, verify likewise, else
/// decode. nullopt without the rate of read (or verify) and of train (or decode).
std::optional<Stage> limiting_stage(std::span<const std::pair<Stage, StageResult>> stages);

/// "You are decode-bound: ...", and what to try, in a few sentences. Empty if limiting_stage() is nullopt.
std::string bench_advice(std::span<const std::pair<Stage, StageResult>> stages);

}  // namespace bale::tools
