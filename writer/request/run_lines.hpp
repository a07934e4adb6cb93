// What is said about what was packed, one line each. The rest is in reader/check/notice_lines.hpp.
//
// Pure functions, safe in any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/options/option_names.hpp"
#include "bale/reader/check/notice_lines.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/scale_out.hpp"

namespace bale {

/// One line per skipped sample, of the first ones.
Lines skipped_lines(const std::vector<SkippedSample>& skipped, const OptionNames& options);

/// "12 samples": what the entries stand for. "at least 3 samples" if that is not known of each.
std::string skipped_count(std::span<const SkippedSample> skipped);

/// One line per replaced dataset.
Lines replaced_lines(const PackReport& report);

/// What was added to a dataset: classes that are new, samples that it had, and its version.
Lines added_lines(const PackReport& report);

/// How JPEGs are stored, if planes were asked for.
Lines planes_lines(const PackReport& report);

/// How many packed images are of kinds that the loader does not decode.
Lines undecodable_lines(const PackReport& report);

/// "3,17,20..25": ascending numbers, with `range` between the ends of a range of at least three. Long lists are whole:
/// they are for programs, too.
std::string number_list(std::span<const std::uint64_t> numbers, std::string_view range);

/// What makes what a merge misses. `source` is the plan or the directory.
Lines missing_lines(const MergeReport& report, const std::string& source);

}  // namespace bale
