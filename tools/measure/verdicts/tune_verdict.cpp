#include "bale/tools/measure/verdicts/tune_verdict.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace bale::tools {
namespace {

constexpr double k_as_good = 0.97;  // what is this near is as fast

}  // namespace

void TuneRow::add_shares(const MachineTimes& before, const MachineTimes& after, unsigned cores) {
  const double all = (after.busy + after.waiting + after.idle) - (before.busy + before.waiting + before.idle);
  if (all > 0) {
    machine_share = (after.busy - before.busy) / all;
    io_wait_share = (after.waiting - before.waiting) / all;
  }
  cpu_share = result.cpu_seconds / (result.seconds * cores);
}

std::vector<unsigned> worker_steps(unsigned cores) {
  std::vector<unsigned> steps{0};
  for (unsigned step = 1; step <= 2 * cores; step *= 2) steps.push_back(step);
  steps.push_back(cores);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

std::size_t recommended(std::span<const TuneRow> rows) {
  double fastest = 0;
  for (const TuneRow& row : rows) fastest = std::max(fastest, row.result.images_per_s());
  const auto size = [](const TuneRow& row) { return std::tuple(row.workers, row.prefetch); };
  std::size_t best = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].result.images_per_s() < k_as_good * fastest) continue;
    if (best == rows.size() || size(rows[i]) < size(rows[best])) best = i;
  }
  return best;
}

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::cpu:
      return "cpu";
    case Bound::other_programs:
      return "other programs";
    case Bound::storage:
      return "storage";
    case Bound::consumer:
      return "consumer";
    case Bound::workers:
      return "workers";
  }
  return {};
}

Bound bound_of(const TuneRow& row, double read_images_per_s) {
  constexpr double k_busy = 0.85;           // share of the cores; the rest of the system needs the others
  constexpr double k_barely_faster = 1.25;  // reading alone, compared with the whole pipeline
  constexpr double k_much_io_wait = 0.2;
  constexpr double k_hardly_waits = 0.1;
  if (row.cpu_share >= k_busy) return Bound::cpu;
  // Before the checks below: on a busy machine neither storage nor workers can be judged.
  if (row.machine_share >= k_busy) return Bound::other_programs;
  const bool reading_binds = read_images_per_s < k_barely_faster * row.result.images_per_s();
  if (reading_binds || row.io_wait_share >= k_much_io_wait) return Bound::storage;
  if (row.workers > 0 && row.result.wait_seconds < k_hardly_waits * row.result.seconds) return Bound::consumer;
  return Bound::workers;
}

std::string_view bound_advice(Bound bound) {
  switch (bound) {
    case Bound::cpu:
      return "The cores are busy decoding and resizing: more workers will not help, more cores or smaller images will.";
    case Bound::other_programs:
      return "Other programs take the cores: measure again when no other program runs.";
    case Bound::storage:
      return "Workers wait for storage: --order block, fewer and larger shards or a faster disk will help, more cores "
             "will not.";
    case Bound::consumer:
      return "Finished batches are waiting: the consumer is slower than the workers.";
    case Bound::workers:
      return "Some cores are idle; more workers or prefetch may help.";
  }
  return {};
}

std::optional<NoVerdict> no_verdict(const TuneRow& best, double read_images_per_s) {
  if (best.result.images == 0) return NoVerdict::nothing_decoded;
  if (bound_of(best, read_images_per_s) == Bound::other_programs) return NoVerdict::machine_too_busy;
  return std::nullopt;
}

std::string no_verdict_text(NoVerdict why, const TuneRow& best) {
  switch (why) {
    case NoVerdict::nothing_decoded:
      return fmt::format(
          "No recommendation: none of the samples could be decoded, the first: {}. Run bale verify --decode.",
          best.result.bad.empty() ? "none was read" : best.result.bad.front());
    case NoVerdict::machine_too_busy:
      return fmt::format(
          "No recommendation: other programs took {:.0f}% of the cores while the fastest setting was measured. Measure "
          "again when no other program runs.",
          std::max(0.0, best.machine_share - best.cpu_share) * 100);
  }
  return {};
}

bool device_decodes_faster(const DecodingFigures& figures) {
  return figures.device.refusal.empty() &&
         figures.host.result.images_per_s() < k_as_good * figures.device.result.images_per_s();
}

std::string decoding_advice(const DecodingFigures& figures) {
  if (!figures.device.refusal.empty()) return "Leave decoding to the workers: " + figures.device.refusal + ".";
  if (!device_decodes_faster(figures)) return "Leave decoding to the workers: the device is not faster here.";
  return "decode=\"device\" is faster here. Its pixels are not those of the workers, so train and evaluate with the "
         "same.";
}

namespace {

constexpr double k_hardly_faster = 1.5;

using Stages = std::span<const std::pair<Stage, StageResult>>;

std::optional<double> rate_of(Stages stages, Stage stage) {
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const auto& one) { return one.first == stage; });
  if (found == stages.end() || found->second.images_per_s() <= 0) return std::nullopt;
  return found->second.images_per_s();
}

std::optional<double> either(std::optional<double> first, std::optional<double> second) {
  return first ? first : second;
}

}  // namespace

std::optional<Stage> limiting_stage(Stages stages) {
  const std::optional<double> read = rate_of(stages, Stage::read);
  const std::optional<double> verify = rate_of(stages, Stage::verify);
  const std::optional<double> pipeline = either(rate_of(stages, Stage::train), rate_of(stages, Stage::decode));
  if (!pipeline || (!read && !verify)) return std::nullopt;
  if (read && *read < k_hardly_faster * *pipeline) return Stage::read;
  if (verify && *verify < k_hardly_faster * *pipeline) return Stage::verify;
  return Stage::decode;
}

std::string bench_advice(Stages stages) {
  const std::optional<Stage> limiting = limiting_stage(stages);
  if (!limiting) return {};
  const double pipeline = *either(rate_of(stages, Stage::train), rate_of(stages, Stage::decode));
  const double read = *either(rate_of(stages, Stage::read), rate_of(stages, Stage::verify));
  switch (*limiting) {
    case Stage::read:
      return fmt::format(
          "You are read-bound: the storage gives {:.0f} images/s, and the whole pipeline makes {:.0f} of them. Try "
          "a block shuffle (--order block), a faster or nearer disk, or smaller stored images.",
          read, pipeline);
    case Stage::verify:
      return fmt::format("You are bound by comparing checksums, at {:.0f} images/s. Try more workers (bale tune).",
                         *rate_of(stages, Stage::verify));
    default:
      return fmt::format(
          "You are decode-bound: reading alone is {:.1f} times as fast as the whole pipeline. Try more workers if "
          "cores are left (bale tune), seek points (bale index --seek-points), or smaller stored images (bale "
          "pack --resize-short 256).",
          read / pipeline);
  }
}

}  // namespace bale::tools
