// What `pack`, `convert` and `merge` print of what they wrote, and `pack`, `plan` of what they would write.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/tools/report/json_output.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/packer.hpp"

namespace bale::tools {

struct SummaryStyle {
  bool json = false;
  bool quiet = false;
};

/// Prints what was written and how fast, and what is wrong with it. Returns the exit code.
int show_packed(const PackReport& report, double seconds, const NoticeLog& notices, const LeftOut& left_out,
                SummaryStyle style, Terminal& terminal, const LabelOrigin& labels = {});

/// A line that says what the labels of a table are read as; empty for other sources.
std::string labels_text(const LabelOrigin& labels);

/// Prints one line per skipped sample, of the first ones.
void list_skipped(const std::vector<SkippedSample>& skipped, Terminal& terminal);

void print_preview(const PackPreview& preview, bool json, Terminal& terminal, const LabelOrigin& labels = {});

}  // namespace bale::tools
