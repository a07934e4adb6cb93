// PackRequest: what a user asks of `bale pack`, `convert` and `plan`, and of Python's functions of these names, as
// plain values; and the steps from it to a report.
//
// Threads: all functions may be called by many threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/reader/image_conditions.hpp"
#include "bale/reader/where.hpp"
#include "bale/writer/add.hpp"
#include "bale/writer/packer.hpp"
#include "bale/writer/scale_out.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

struct PackRequest {
  std::string_view command = "pack";  // or "convert", "plan", "add"
  bool source_is_packed = false;
  std::string source{};
  std::string files_from{};
  std::string format{};  // empty: the first
  std::string layout{};
  bool decode = false;  // use a layout that stores pixels
  SourceOptions source_options{};
  std::string where{};         // a condition; empty: every sample
  std::string exclude_from{};  // list of names; empty: none
  SampleDraw draw{};
  PackOptions options{};
  AddRules add{};        // of "add"
  bool dry_run = false;  // the caller calls preview_listed()
  bool strict = false;   // what is not taken or used is an error
};

/// The options that say what is packed, and how. `request.command` and `source_is_packed` say for which command.
void add_pack_options(OptionTable& table, PackRequest& request);

inline constexpr const char* k_run_group = "Run";
/// Those of the run.
void add_run_options(OptionTable& table, PackRequest& request);

/// Which shards of a plan are packed.
void add_part_options(OptionTable& table, PartChoice& choice);

/// A condition on samples.
void add_where(OptionTable& table, std::string& condition);

/// What a run says to its user while it works, besides its progress. The functions are called by the thread that runs
/// the request.
struct RunNotes {
  std::function<void(const std::string& line)> note{};     // what was not taken
  std::function<void(const std::string& line)> remark{};   // what was done as asked; empty: it is not said
  std::function<void(const std::string& line)> warning{};  // what is odd about the plan or the destination
  OptionNames options{};                                   // of the user, for both
};

/// Samples that the options of a request left out.
struct LeftOut {
  WhereCounts where{};
  ExcludeCounts listed{};
};

/// What a run said before it wrote anything.
struct RunRemarks {
  NoticeLog notices{};  // of the source, and of what the request asked for without success
  LeftOut left_out{};
  std::vector<std::string> warnings{};  // of plan and destination
  LabelOrigin labels{};
};

struct ListedSource {
  PackRequest request{};  // with places, format and name settled
  std::unique_ptr<Source> source{};
  RunRemarks remarks{};
  std::function<void(NoticeLog& log)> read_notices{};  // Source::read_notices()
  std::chrono::steady_clock::time_point begin{};       // of the run
};

/// PackOptions::on_warning of a run: keeps and shows each line. Both must outlive what is returned.
std::function<void(const std::string&)> warner(std::vector<std::string>& warnings, const RunNotes& notes);

/// The format that is asked for, or the first. Throws what find_format() and find_decoded_format() throw.
FormatAndLayout format_of(const PackRequest& request);

/// Lists the source, and notes what was ignored and left out. Throws what opening a source throws, and `unsupported` if
/// the request is strict and something was not taken or used.
ListedSource list_source(const PackRequest& asked, const RunNotes& notes);

/// "3 of 10 samples have no label"; nullopt if all or none of them have one.
std::optional<std::string> unlabeled_line(std::uint64_t num_unlabeled, std::uint64_t num_samples);

/// Says what reading the samples has shown, and adds it to the remarks.
void note_read(ListedSource& listed, const RunNotes& notes);

struct PackOutcome {
  PackReport report{};
  ImageConditions images{};
  double seconds = 0;  // from list_source() on
};

/// The run of pack(), or of add(), which takes the source; its warnings become remarks of `listed`. Throws what pack()
/// throws; if it was stopped or the disk is full, with how it continues.
PackOutcome pack_listed(ListedSource& listed, const RunNotes& notes, Progress& progress);
/// plan_pack() into `path`.
PlanReport plan_listed(ListedSource& listed, const std::string& path, const RunNotes& notes);
/// What pack_listed() would write, or plan_listed() if there is a path.
PackPreview preview_listed(ListedSource& listed, const std::string& path, const RunNotes& notes, Progress& progress);
/// pack_part(), whose errors say how it continues.
PartReport pack_part_of(const std::string& plan, const PartChoice& choice, const PackOptions& options,
                        Progress& progress);

/// The conditions of all images in the outputs, including those that an earlier run wrote.
ImageConditions conditions_of(const PackReport& report, std::uint64_t max_pixels);

/// The error, with how a run at `place` continues if it was stopped or the disk is full: as the library says, else by
/// itself.
Error with_way_on(const Error& error, const std::string& place, const Progress& progress);

}  // namespace bale
