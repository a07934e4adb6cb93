// What `bale doctor` measured, and what it means. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "bale/tools/measure/tune_verdict.hpp"

namespace bale::tools {

enum class Bottleneck { read, decode, copy, compute };
/// "read", "decode", "copy", "compute".
std::string_view bottleneck_name(Bottleneck bottleneck);

/// Images a second that each part of training could do by itself.
struct DoctorFigures {
  double read = 0;                  // storage and checksums
  double load = 0;                  // the loader as it was set up, reading included
  std::optional<double> copy{};     // to the device
  std::optional<double> compute{};  // the steps
  TuneRow setting{};                // the loader's, with what it took of the machine
  unsigned cores = 1;
};

/// The slowest. The loader is bound by reading where it hardly does more than reading alone would, or waits for
/// storage.
Bottleneck bottleneck_of(const DoctorFigures& figures);

/// So many workers would keep up with whatever else is slowest; at least 1, and at most those that were measured.
unsigned workers_needed(const DoctorFigures& figures);

/// The share of the time that the device waits for data when each step takes what it takes with data that are there;
/// none without `compute`.
std::optional<double> device_waits(const DoctorFigures& figures);
/// Cores that decode as fast as the steps take images, by the CPU time that an image took here. Precondition:
/// `compute`.
unsigned cores_needed(const DoctorFigures& figures);
/// Both in words; empty without `compute`.
std::string waiting_text(const DoctorFigures& figures);

/// What to change, in one or two sentences.
std::string advice(const DoctorFigures& figures);

}  // namespace bale::tools
