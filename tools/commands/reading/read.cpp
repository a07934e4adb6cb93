#include <chrono>
#include <functional>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/reader/read_in_order.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/commands/open_dataset.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/signals.hpp"

namespace bale::tools {
namespace {

Shuffle order_of(const ReadCommand& command) { return command.order.value_or(Shuffle::none()); }

/// Neighbors are read together, and few threads need what is read ahead: both through the page cache. Else the
/// dataset's size decides.
std::optional<bool> choose_direct_io(const ReadCommand& command) {
  constexpr unsigned k_enough_jobs = 16;
  if (command.direct_io) return command.direct_io;
  const bool has_jobs = command.jobs == 0 || command.jobs >= k_enough_jobs;
  if (order_of(command).kind != Shuffle::Kind::full || command.large_transfers || !has_jobs) return false;
  return std::nullopt;
}

/// A dataset in stored order is read while it is counted.
Dataset open_to_read(const ReadCommand& command, Terminal& terminal) {
  const DatasetOptions options{.verify_checksums = command.verify_checksums, .direct_io = choose_direct_io(command)};
  if (order_of(command).kind != Shuffle::Kind::none)
    return open_dataset(command.spec, terminal, command.quiet, options);
  DatasetOptions counting = options;
  counting.counting = Counting::while_read;
  counting.relative_names = true;
  return Dataset::open(command.spec, counting);
}

/// Reads all epochs.
void read_epochs(const Dataset& dataset, const ReadCommand& command,
                 const std::function<void(const SampleView&)>& on_sample) {
  const ReadInOrderOptions options{.jobs = command.jobs, .large_transfers = command.large_transfers};
  std::uint64_t begin = 0;
  if (dataset.num_counted_shards() < dataset.num_shards() && command.epochs > 0) {
    read_as_counted(dataset, options, on_sample);
    begin = dataset.size();
  }
  const EpochOrder order(Selection::all(dataset.size()), order_of(command), command.seed);
  read_in_order(dataset, order, begin, dataset.size() * command.epochs, options, on_sample);
}

}  // namespace

int run_read(const ReadCommand& command, Terminal& terminal) {
  const Dataset dataset = open_to_read(command, terminal);
  const auto with_totals = [&](ProgressCounts counts) {
    const std::size_t counted = dataset.num_counted_shards();
    if (counted == dataset.num_shards()) {
      counts.total_samples = dataset.size() * command.epochs;
    } else {
      counts.shards = counted;
      counts.total_shards = dataset.num_shards();
    }
    return counts;
  };
  const auto read_all = [&](Progress& progress) {
    const auto start = std::chrono::steady_clock::now();
    read_epochs(dataset, command, [&](const SampleView& sample) {
      progress.throw_if_stopped();
      for (const FieldView& field : sample.fields) progress.bytes += field.bytes.size();
      ++progress.samples;
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return ReadRates{
        .epochs = command.epochs, .samples = progress.samples, .bytes = progress.bytes, .seconds = seconds};
  };
  const ReadRates rates = run_attended("read", progress_style(command.quiet), terminal, read_all, with_totals);
  show_notices(dataset.notices(), "entry", terminal);
  if (command.json) {
    terminal.print(read_json(rates));
  } else if (!command.quiet) {
    const double per_second = rates.seconds > 0 ? 1 / rates.seconds : 0;
    terminal.print(fmt::format("{}, {} in {}: {} img/s, {:.0f} MB/s\n", plural(rates.samples, "sample"),
                               human_bytes(rates.bytes), human_seconds(rates.seconds),
                               human_count(static_cast<std::uint64_t>(static_cast<double>(rates.samples) * per_second)),
                               static_cast<double>(rates.bytes) * per_second / 1e6));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
