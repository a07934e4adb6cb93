// What `pack`, `convert` and `merge` print of what they wrote, and `pack`, `plan` of what they would write.
#pragma once

#include <string>
#include <vector>

#include "bale/tools/commands/commands.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/request/pack_request.hpp"

namespace bale::tools {

struct SummaryStyle {
  bool json = false;
  bool quiet = false;
  bool checked_images = false;  // the run decoded all of them
};

/// Notes of a request go to standard error.
RunNotes notes_on(Terminal& terminal, bool quiet);

/// The request of a command, listed; its list is shown.
ListedSource list_shown(const PackCommand& command, const RunNotes& notes, Terminal& terminal);

/// Prints what was written and how fast, and what is wrong with it. Returns the exit code.
int show_packed(const PackOutcome& outcome, const RunRemarks& remarks, SummaryStyle style, Terminal& terminal);

/// A line that says what the labels of a table are read as; empty for other sources.
std::string labels_text(const LabelOrigin& labels);

void print_preview(const PackPreview& preview, const std::vector<std::string>& warnings, bool json, Terminal& terminal,
                   const LabelOrigin& labels = {});

}  // namespace bale::tools
