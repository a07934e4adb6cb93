// ChangeRequest: what a user asks of `bale remove`, `bale set` and `bale rewrite`, and of Python's functions, as plain
// values.
//
// Threads: all functions may be called by many threads at once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/edit.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/request/run_lines.hpp"
#include "bale/writer/rewrite.hpp"

namespace bale {

struct ChangeRequest {
  std::string command{};         // "remove", "set" or "rewrite"
  std::shared_ptr<Edit> edit{};  // that gets the change of remove and set; null: it is published at once
  ChangeOptions options{};
  RemovalChoice removal{};
  LabelChoice labels{};
  FieldChoice field{};    // of set: its `keys`; field and file are in `setting`, needs_all in `labels`
  std::string setting{};  // of set: "label=FILE", or "FIELD=FILE"
  RewriteOptions
      rewriting{};  // of rewrite; of remove: `purge`. Destination, message and dry_run are those of `options`
};

/// What was done. At least one of them.
struct ChangeOutcome {
  std::optional<ChangeReport> change{};
  std::optional<RewriteReport> rewriting{};
  std::optional<RunRemarks> remarks{};  // of an edit that adds samples: on these
};

/// The options of the command, whose name the request has.
void add_change_options(OptionTable& table, ChangeRequest& request);

/// remove(), set_labels(), set_field() or rewrite(), as the request says, or one of an edit. Throws what they throw.
ChangeOutcome change(const ChangeRequest& request, Progress& progress);

/// What was done, for people.
Lines change_lines(const ChangeOutcome& outcome);
/// The report as JSON text.
std::string change_json(const ChangeOutcome& outcome);

}  // namespace bale
