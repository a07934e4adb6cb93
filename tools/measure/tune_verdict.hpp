// What the settings that `bale tune` measured mean. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/measure/process_usage.hpp"

namespace bale::tools {

/// One setting and what it gave.
struct TuneRow {
  unsigned workers = 0;
  std::uint32_t prefetch = 0;
  StageResult result;
  double cpu_share = 0;      // of the cores, by this program and its workers; 1: all of them all the time
  double machine_share = 0;  // of the cores, by anyone
  double io_wait_share = 0;  // of the cores, idle while storage was asked

  /// Sets the shares, of what the machine did between the two.
  void add_shares(const MachineTimes& before, const MachineTimes& after, unsigned cores);
};

/// Numbers of workers to try on so many cores: 0, 1, 2, 4, ... up to twice the cores, their number among them.
std::vector<unsigned> worker_steps(unsigned cores);

/// The smallest setting (workers first, then prefetch) within a few per cent of the fastest.
std::size_t recommended(std::span<const TuneRow> rows);

enum class Bound { cpu, other_programs, storage, consumer, workers };
/// "cpu", "other programs", "storage", "consumer", "workers".
std::string_view bound_name(Bound bound);

/// What keeps `row` from being faster, where reading alone gives `read_images_per_s`.
Bound bound_of(const TuneRow& row, double read_images_per_s);
/// What that means and what to do about it, one sentence.
std::string_view bound_advice(Bound bound);

/// Why `best`, the fastest row, says nothing about this dataset on this machine.
enum class NoVerdict { nothing_decoded, machine_too_busy };
std::optional<NoVerdict> no_verdict(const TuneRow& best, double read_images_per_s);
/// One or two sentences: why no setting is recommended, and what to do.
std::string no_verdict_text(NoVerdict why, const TuneRow& best);

}  // namespace bale::tools
