#include "bale/tools/measure/verdicts/doctor_verdict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/base/text/human.hpp"

namespace bale::tools {
namespace {

constexpr double k_slack = 1.15;  // spare workers beyond what the mean rate needs
constexpr double k_busy = 0.85;   // share of the cores
constexpr double k_hardly_faster_storage = 1.5;
constexpr double k_much_faster = 2;

double rest_of(const DoctorFigures& figures) {
  return std::min(figures.copy.value_or(std::numeric_limits<double>::infinity()),
                  figures.compute.value_or(std::numeric_limits<double>::infinity()));
}

/// Without judging the cores: the same machine has just read faster from the cache.
bool waits_for_network(const DoctorFigures& figures) {
  const bool cache_is_faster = figures.read_again && *figures.read_again > k_much_faster * figures.read;
  return (cache_is_faster || figures.always_fetches) && figures.read < k_hardly_faster_storage * figures.load;
}

std::string network_advice(const DoctorFigures& figures) {
  constexpr std::string_view k_nearer =
      "raise read_ahead_bytes if the latency is high, read neighbors together (--order block; shuffle=\"block\"), or "
      "use "
      "storage that is nearer.";
  if (!figures.read_again) {
    return fmt::format(
        "The network is what training waits for, and nothing that came is kept: give it a cache "
        "(BALE_CACHE_DIR), {}",
        k_nearer);
  }
  return fmt::format(
      "The network is what training waits for: from the cache the same images are read at {:.0f} per "
      "second. Fetch the dataset before training with `bale cache warm`, {}",
      *figures.read_again, k_nearer);
}

std::string decode_advice(const DoctorFigures& figures) {
  const unsigned workers = figures.setting.workers;
  const double all_cores = figures.load * figures.cores / std::max(1U, workers);
  if (workers < figures.cores && figures.setting.machine_share < k_busy) {
    return fmt::format("Some cores are idle: set workers to {}, which may give {:.0f} images/s.", figures.cores,
                       all_cores);
  }
  if (figures.setting.machine_share - figures.setting.cpu_share > 1 - k_busy) {
    return "Other programs take a part of the cores: measure again when no other program runs.";
  }
  return "The cores are busy decoding: more of them will help, and so will smaller stored images; more workers will "
         "not.";
}

}  // namespace

std::string_view bottleneck_name(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::read:
      return "read";
    case Bottleneck::network:
      return "network";
    case Bottleneck::decode:
      return "decode";
    case Bottleneck::copy:
      return "copy";
    case Bottleneck::compute:
      return "compute";
  }
  return {};
}

Bottleneck bottleneck_of(const DoctorFigures& figures) {
  if (figures.compute && *figures.compute <= figures.load &&
      *figures.compute <= figures.copy.value_or(*figures.compute)) {
    return Bottleneck::compute;
  }
  if (figures.copy && *figures.copy <= figures.load) return Bottleneck::copy;
  if (waits_for_network(figures)) return Bottleneck::network;
  const bool by_reading = bound_of(figures.setting, figures.read) == Bound::storage;
  return by_reading ? Bottleneck::read : Bottleneck::decode;
}

unsigned workers_needed(const DoctorFigures& figures) {
  const double share = std::min(1.0, k_slack * rest_of(figures) / figures.load);
  return std::max(1U, static_cast<unsigned>(std::ceil(share * figures.setting.workers)));
}

std::optional<double> device_waits(const DoctorFigures& figures) {
  if (!figures.compute) return std::nullopt;
  const double fed = std::min(figures.load, figures.copy.value_or(figures.load));
  return std::max(0.0, 1 - fed / *figures.compute);
}

unsigned cores_needed(const DoctorFigures& figures) {
  const double cores_used = figures.setting.cpu_share * figures.cores;
  return std::max(1U, static_cast<unsigned>(std::ceil(k_slack * *figures.compute * cores_used / figures.load)));
}

std::string waiting_text(const DoctorFigures& figures) {
  const std::optional<double> waits = device_waits(figures);
  if (!waits || figures.load <= 0) return {};
  const Bottleneck bottleneck = bottleneck_of(figures);
  if (bottleneck == Bottleneck::compute) return "The GPU does not wait for data.";
  std::string text =
      fmt::format("The GPU waits {:.0f}% of the time: its steps can take {:.0f} images per second, and {:.0f} arrive.",
                  *waits * 100, *figures.compute, (1 - *waits) * *figures.compute);
  if (bottleneck != Bottleneck::decode) return text;
  return text + fmt::format(" {} would do; this machine has {}.", plural(cores_needed(figures), "core"), figures.cores);
}

std::string advice(const DoctorFigures& figures) {
  switch (bottleneck_of(figures)) {
    case Bottleneck::read:
      return "Workers wait for storage. Read long runs (--order block; shuffle=\"block\"), on a disk that is limited "
             "in "
             "transfers per second with large_transfers; on a fast one with data beyond memory use direct_io and more "
             "workers than cores. Fewer, larger shards help both.";
    case Bottleneck::network:
      return network_advice(figures);
    case Bottleneck::decode:
      return decode_advice(figures);
    case Bottleneck::copy:
      return "The bus is busy. Let the device make the float type (a transform with dtype, in a build with kernels), "
             "so "
             "that 8 bits a value are copied.";
    case Bottleneck::compute:
      return fmt::format(
          "The steps are what takes the time, and batches are there before they are wanted: {} would do.",
          plural(workers_needed(figures), "worker"));
  }
  return {};
}

}  // namespace bale::tools
