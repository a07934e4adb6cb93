#include "bale/writer/request/change_request.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/human.hpp"

namespace bale {
namespace {

constexpr std::string_view k_label_setting = "label=";

bool parse_missing(std::string_view option, std::string_view text) {
  if (text != "keep" && text != "error") refuse_value(option, text, "keep or error");
  return text == "error";
}

}  // namespace

void add_change_options(OptionTable& table, ChangeRequest& request) {
  if (request.command == "remove") {
    add_text(table, "from", "FILE", request.removal.from,
             "Remove the samples that a file names, - for standard input: one key per line as `bale ls` prints it, or "
             "lines of `bale log --removed`");
    add_text(table, "where", "CONDITION", request.removal.where, "Remove the samples for which the condition is true");
  } else {
    add_parsed(table, "missing", "keep|error", request.labels.needs_all, parse_missing,
               "Samples that FILE does not have keep their label, or are an error (default: keep)")
        .typed("Literal[\"keep\", \"error\"]");
  }
  add_text(table, "m,message", "TEXT", request.options.message, "What `bale log` says of the new version");
  add_flag(table, "n,dry_run", request.options.dry_run, "Print what would be done, and change nothing");
}

ChangeReport change(const ChangeRequest& request, Progress& progress) {
  if (request.command == "remove") return remove(request.removal, request.options, progress);
  LabelChoice labels = request.labels;
  if (!request.setting.starts_with(k_label_setting)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is nothing that can be set", printable(request.setting)),
                {.hint = "give label=FILE with a table of keys and labels"});
  }
  labels.table = request.setting.substr(k_label_setting.size());
  return set_labels(labels, request.options, progress);
}

Lines change_lines(const ChangeReport& report) {
  const bool removes = report.verb == "remove";
  Lines lines;
  const std::string samples = plural(report.num_samples, "sample");
  const std::string shards = plural(report.num_shards, "shard");
  const std::string what =
      removes ? fmt::format("{}removed from {}", report.version.empty() ? "would be " : "", shards)
              : fmt::format("{} another label, in {}", report.version.empty() ? "would get" : "got", shards);
  if (report.num_unchanged != 0) {
    lines.push_back(removes
                        ? fmt::format("{} of the list are not in the dataset", plural(report.num_unchanged, "sample"))
                        : fmt::format("{} had the label of the table", plural(report.num_unchanged, "sample")));
  }
  if (report.num_unreadable != 0) {
    lines.push_back(fmt::format("of {} the image could not be read: only the key will be known again",
                                plural(report.num_unreadable, "sample")));
  }
  if (report.version == report.parent) {
    lines.push_back(fmt::format("nothing to change: version {} stays", report.version));
    return lines;
  }
  lines.push_back(report.version.empty()
                      ? fmt::format("{} {}", samples, what)
                      : fmt::format("{} {}: version {} after {}", samples, what, report.version, report.parent));
  return lines;
}

std::string change_json(const ChangeReport& report) {
  return json_document({{"destination", shown_json(report.directory)},
                        {"verb", report.verb},
                        {"samples", report.num_samples},
                        {"shards", report.num_shards},
                        {"unchanged", report.num_unchanged},
                        {"unreadable", report.num_unreadable},
                        {"left", report.num_left},
                        {"bytes", report.num_bytes},
                        {"version", report.version.empty() ? Json() : Json(report.version)},
                        {"parent", report.parent}});
}

}  // namespace bale
