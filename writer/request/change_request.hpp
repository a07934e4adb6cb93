// ChangeRequest: what a user asks of `bale remove` and `bale set`, and of Python's functions, as plain values.
//
// Threads: all functions may be called by many threads at once.
#pragma once

#include <string>
#include <vector>

#include "bale/formats/base/options/option_table.hpp"
#include "bale/writer/change.hpp"
#include "bale/writer/request/run_lines.hpp"

namespace bale {

struct ChangeRequest {
  std::string command{};  // "remove" or "set"
  ChangeOptions options{};
  RemovalChoice removal{};
  LabelChoice labels{};
  std::string setting{};  // of set: "label=FILE"
};

/// The options of the command, whose name the request has.
void add_change_options(OptionTable& table, ChangeRequest& request);

/// remove() or set_labels(), as the request says. Throws what they throw.
ChangeReport change(const ChangeRequest& request, Progress& progress);

/// What was done, for people.
Lines change_lines(const ChangeReport& report);
/// The report as JSON text.
std::string change_json(const ChangeReport& report);

}  // namespace bale
