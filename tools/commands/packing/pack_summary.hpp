// What `pack`, `convert` and `merge` print of what they wrote, and `pack`, `plan` of what they would write.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/packer.hpp"

namespace bale::tools {

struct SummaryStyle {
  bool json = false;
  bool quiet = false;
  bool checked_images = false;                      // the run decoded all of them
  std::uint64_t max_pixels = k_default_max_pixels;  // larger images are named
};

/// Prints the warnings of a run at once, whatever else is quiet, and keeps them for its report.
class RunWarnings {
 public:
  explicit RunWarnings(Terminal& terminal) : terminal_(terminal) {}
  /// For PackOptions::on_warning, as long as this object lives.
  std::function<void(const std::string&)> handler();
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  Terminal& terminal_;
  std::vector<std::string> lines_;
};

/// Prints what was written and how fast, and what is wrong with it. Returns the exit code.
int show_packed(const PackReport& report, double seconds, const RunRemarks& remarks, SummaryStyle style,
                Terminal& terminal);

/// A line that says what the labels of a table are read as; empty for other sources.
std::string labels_text(const LabelOrigin& labels);

/// Prints one line per skipped sample, of the first ones.
void list_skipped(const std::vector<SkippedSample>& skipped, Terminal& terminal);

void print_preview(const PackPreview& preview, const std::vector<std::string>& warnings, bool json, Terminal& terminal,
                   const LabelOrigin& labels = {});

}  // namespace bale::tools
