// The measurements of `bale doctor` and their interpretation. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "bale/tools/measure/verdicts/tune_verdict.hpp"

namespace bale::tools {

enum class Bottleneck { read, network, decode, copy, compute };
/// "read", "network", "decode", "copy", "compute".
std::string_view bottleneck_name(Bottleneck bottleneck);

/// Images per second that each part of training reaches by itself.
struct DoctorFigures {
  double read = 0;                     // storage and checksums, of samples that were not read lately
  std::optional<double> read_again{};  // the same samples from the cache of remote files
  bool always_fetches = false;         // the dataset is remote, and there is no cache
  double load = 0;                     // the loader as configured, including reading
  std::optional<double> copy{};        // to the device
  std::optional<double> compute{};     // the steps
  TuneRow setting{};                   // the loader's, with its use of the machine
  unsigned cores = 1;
};

/// The slowest part. The loader is bound by reading if reading alone is hardly faster, or if it waits for storage. It
/// is bound by the network if reading the same again from the cache is much faster.
Bottleneck bottleneck_of(const DoctorFigures& figures);

/// The number of workers that keeps up with the slowest other part: at least 1, at most the number that was measured.
unsigned workers_needed(const DoctorFigures& figures);

/// The share of the time that the device waits for data, if each step takes as long as without waiting. nullopt without
/// `compute`.
std::optional<double> device_waits(const DoctorFigures& figures);
/// Cores that are needed to decode as fast as the steps take images, from the measured CPU time per image.
/// Precondition: `compute`.
unsigned cores_needed(const DoctorFigures& figures);
/// Both as text; empty without `compute`.
std::string waiting_text(const DoctorFigures& figures);

/// What to change, in one or two sentences.
std::string advice(const DoctorFigures& figures);

}  // namespace bale::tools
