// The options of checking a dataset: `bale verify`, and Python's verify().
#pragma once

#include "bale/formats/base/options/option_table.hpp"
#include "bale/reader/dataset_check.hpp"

namespace bale {

inline void add_check_options(OptionTable& table, CheckOptions& options) {
  OptionModel& decode =
      add_flag(table, "decode", options.decode, "Decode every image too, and name those that cannot be");
  add_max_pixels(table, options.max_pixels);
  table.back().needs(decode);
  add_jobs(table, options.jobs, "Shards read at a time (default: one per core)");
}

}  // namespace bale
