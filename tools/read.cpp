#include <atomic>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "bale/formats/core/parallel.hpp"
#include "bale/formats/core/random.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tools/commands.hpp"
#include "bale/tools/human.hpp"
#include "bale/tools/json_output.hpp"
#include "bale/tools/progress.hpp"
#include "bale/tools/read_ahead.hpp"
#include "bale/tools/signals.hpp"

namespace bale::tools {
namespace {

struct ReadProgress {
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> stop{false};
};

/// One pass over `order`, in pieces that threads take in turn.
void read_epoch(const Dataset& dataset, std::span<const std::uint64_t> order, unsigned jobs, ReadProgress& progress) {
  constexpr std::size_t k_piece = 512;
  const std::size_t pieces = (order.size() + k_piece - 1) / k_piece;
  run_parallel(pieces, jobs, [&](std::size_t piece) {
    const auto part = order.subspan(piece * k_piece, std::min(k_piece, order.size() - piece * k_piece));
    ReadAhead ahead(dataset, part);
    Scratch scratch;
    for (std::size_t at = 0; at < part.size(); ++at) {
      throw_if_stopped(progress.stop);
      ahead.reached(at);
      std::uint64_t bytes = 0;
      for (const FieldView& field : dataset.read(part[at], scratch).fields) bytes += field.bytes.size();
      progress.bytes += bytes;
      ++progress.samples;
    }
  });
}

}  // namespace

int run_read(const ReadCommand& command, Terminal& terminal) {
  const Dataset dataset = Dataset::open(command.spec, {.verify_checksums = command.verify_checksums});
  ReadProgress progress;
  const std::uint64_t total = dataset.size() * command.epochs;
  const auto poll = [&] {
    return ProgressCounts{.samples = progress.samples, .total_samples = total, .bytes = progress.bytes};
  };
  const StopOnSignal stop(progress.stop);
  ProgressDisplay display(terminal, "read", poll, command.quiet);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> order(dataset.size());
  for (std::uint64_t epoch = 0; epoch < command.epochs; ++epoch) {
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    if (command.shuffle_seed) KeyedRandom{*command.shuffle_seed, epoch}.shuffle(order);
    read_epoch(dataset, order, command.jobs, progress);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  display.finish();
  const ReadRates rates{
      .epochs = command.epochs, .samples = progress.samples, .bytes = progress.bytes, .seconds = seconds};
  if (command.json) {
    terminal.print(read_json(rates));
  } else if (!command.quiet) {
    const double per_second = seconds > 0 ? 1 / seconds : 0;
    terminal.print(fmt::format("{}, {} in {}: {} img/s, {:.0f} MB/s\n", plural(rates.samples, "sample"),
                               human_bytes(rates.bytes), human_seconds(seconds),
                               human_count(static_cast<std::uint64_t>(static_cast<double>(rates.samples) * per_second)),
                               static_cast<double>(rates.bytes) * per_second / 1e6));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
