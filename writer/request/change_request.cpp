#include "bale/writer/request/change_request.hpp"

#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/writer/request/report_json.hpp"
#include "bale/writer/request/versions_request.hpp"

namespace bale {
namespace {

constexpr std::string_view k_label = "label";

bool parse_missing(std::string_view option, std::string_view text) {
  if (text != "keep" && text != "error") refuse_value(option, text, "keep or error");
  return text == "error";
}

}  // namespace

void add_change_options(OptionTable& table, ChangeRequest& request) {
  if (request.command == "rewrite") {
    RewriteOptions& rewriting = request.rewriting;
    add_flag(table, "purge", rewriting.purge,
             "Also delete every shard of any version that holds a removed sample; versions that need it are gone then");
    add_parsed(table, "small", "SIZE", rewriting.small_bytes, parse_size,
               "Join neighboring shards that are smaller than this, up to this size (default: none)");
    add_flag(table, "all", rewriting.all, "Write all shards again");
    add_jobs(table, rewriting.jobs, "Shards to write in parallel (default: automatic)");
  } else if (request.command == "remove") {
    add_flag(
        table, "purge", request.rewriting.purge,
        "Also write the shards that hold the samples again, and delete these, with the versions that need them: no "
        "byte of the samples stays");
    add_text(table, "from", "FILE", request.removal.from,
             "Remove the samples that a file names, - for standard input: one key per line as `bale ls` prints it, or "
             "lines of `bale log --removed`");
    add_text(table, "where", "CONDITION", request.removal.where, "Remove the samples for which the condition is true");
  } else {
    add_parsed(table, "missing", "keep|error", request.labels.needs_all, parse_missing,
               "Samples that FILE does not have keep what they have, or are an error (default: keep)")
        .typed("Literal[\"keep\", \"error\"]");
    add_text(table, "keys", "FILE", request.field.keys,
             "If FILE is an array: which samples its rows are, one key per line as `bale ls` prints it");
  }
  add_message(table, request.options.message);
  add_flag(table, "n,dry_run", request.options.dry_run, "Print what would be done, and change nothing");
}

namespace {

ChangeReport layered(const ChangeRequest& request, Progress& progress) {
  if (request.command == "remove") {
    RemovalChoice removal = request.removal;
    removal.again = request.rewriting.purge;  // a run may have ended between its two steps
    return request.edit ? request.edit->remove(removal, progress) : remove(removal, request.options, progress);
  }
  const std::size_t end = request.setting.find('=');
  const std::string name = request.setting.substr(0, end);
  if (end == std::string::npos || end + 1 == request.setting.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is nothing that can be set", printable(request.setting)),
                {.hint = "give label=FILE with a table of keys and labels, or NAME.EXT=FILE with values of a field"});
  }
  if (name == k_label) {
    LabelChoice labels = request.labels;
    labels.table = request.setting.substr(end + 1);
    return request.edit ? request.edit->set_labels(labels, progress) : set_labels(labels, request.options, progress);
  }
  FieldChoice field = request.field;
  field.field = name;
  field.from = request.setting.substr(end + 1);
  field.needs_all = request.labels.needs_all;
  return request.edit ? request.edit->set_field(field, progress) : set_field(field, request.options, progress);
}

Lines lines_of(const ChangeReport& report) {
  const bool removes = report.verb == "remove";
  const bool adds = report.verb == "add";
  Lines lines;
  const std::string samples = plural(report.num_samples, "sample");
  const std::string shards = plural(report.num_shards, "shard");
  const std::string given = report.field.empty() ? "another label" : "a value of " + printable(report.field);
  const char* const would_be = report.version.empty() ? "would be " : "";
  const std::string what =
      removes ? fmt::format("{}removed from {}", would_be, shards)
      : adds  ? fmt::format("{}added in {}", would_be, shards)
              : fmt::format("{} {}, in {}", report.version.empty() ? "would get" : "got", given, shards);
  if (report.num_unchanged != 0) {
    lines.push_back(removes
                        ? fmt::format("{} of the list are not in the dataset", plural(report.num_unchanged, "sample"))
                    : adds ? fmt::format("{} left out that the dataset has", plural(report.num_unchanged, "sample"))
                           : fmt::format("{} had the {} already", plural(report.num_unchanged, "sample"),
                                         report.field.empty() ? k_label : "value"));
  }
  if (report.num_unreadable != 0) {
    lines.push_back(fmt::format("of {} the image could not be read: only the key will be known again",
                                plural(report.num_unreadable, "sample")));
  }
  if (report.added) {
    for (const std::string& name : report.added->added->new_classes)
      lines.push_back(fmt::format("new class: {}", printable(name)));
  }
  if (report.version == report.parent) {
    lines.push_back(fmt::format("nothing to change: version {} stays", report.version));
    return lines;
  }
  if (report.verb.find(' ') != std::string::npos) {  // of several changes
    lines.push_back(
        fmt::format("{} ({}): version {} after {}", samples, printable(report.verb), report.version, report.parent));
    return lines;
  }
  lines.push_back(report.version.empty()
                      ? fmt::format("{} {}", samples, what)
                      : fmt::format("{} {}: version {} after {}", samples, what, report.version, report.parent));
  return lines;
}

Lines lines_of(const RewriteReport& report) {
  Lines lines;
  const bool is_dry_run = report.version.empty();
  const char* const would_be = is_dry_run ? "would be " : "";
  for (const std::string& id : report.gone) {
    lines.push_back(fmt::format("version {} {}", id, is_dry_run ? "would go" : "is gone"));
  }
  if (report.num_removed_files != 0) {
    lines.push_back(fmt::format("{} {}removed", plural(report.num_removed_files, "file"), would_be));
  }
  if (report.num_linked_files != 0) {
    lines.push_back(
        fmt::format("{} of them linked with files elsewhere, where removed samples stay", report.num_linked_files));
  }
  if (report.num_cache_bytes != 0) {
    lines.push_back(fmt::format("{} removed from the cache of remote files", human_bytes(report.num_cache_bytes)));
  }
  if (report.bucket_keeps_removed) lines.emplace_back(k_bucket_keeps_removed);
  const std::string what = fmt::format("{} in {} {}written in place of {}", plural(report.num_samples, "sample"),
                                       plural(report.num_shards, "shard"), would_be, report.num_replaced);
  if (report.num_replaced == 0) {
    lines.push_back(fmt::format("no shard to write: version {} stays", report.parent));
  } else {
    lines.push_back(is_dry_run ? what : fmt::format("{}: version {} after {}", what, report.version, report.parent));
  }
  return lines;
}

Json json_of(const RewriteReport& report) {
  return {{"destination", shown_json(report.directory)},
          {"samples", report.num_samples},
          {"replaced", report.num_replaced},
          {"shards", report.num_shards},
          {"bytes", report.num_bytes},
          {"gone", Json::list_of(report.gone)},
          {"removed_files", report.num_removed_files},
          {"linked_files", report.num_linked_files},
          {"cache_bytes", report.num_cache_bytes},
          {"bucket_keeps_removed", report.bucket_keeps_removed},
          {"version", report.version.empty() ? Json() : Json(report.version)},
          {"parent", report.parent}};
}

Json json_of(const ChangeReport& report) {
  return {{"destination", shown_json(report.directory)},
          {"verb", report.verb},
          {"field", report.field.empty() ? Json() : Json(report.field)},
          {"samples", report.num_samples},
          {"shards", report.num_shards},
          {"unchanged", report.num_unchanged},
          {"unreadable", report.num_unreadable},
          {"left", report.num_left},
          {"bytes", report.num_bytes},
          {"version", report.version.empty() ? Json() : Json(report.version)},
          {"parent", report.parent}};
}

}  // namespace

ChangeOutcome change(const ChangeRequest& request, Progress& progress) {
  ChangeOutcome outcome;
  const bool rewrites = request.command == "rewrite";
  if (!rewrites && request.rewriting.purge) throw_if_not_rewritable(request.options.destination);
  if (!rewrites) outcome.change = layered(request, progress);
  if (rewrites || (request.rewriting.purge && !request.options.dry_run)) {
    RewriteOptions options = request.rewriting;
    options.destination = request.options.destination;
    options.message = request.options.message;
    options.dry_run = request.options.dry_run;
    options.only_removed = !rewrites;
    try {
      outcome.rewriting = rewrite(options, progress);
    } catch (const Error& error) {
      if (rewrites) throw;
      ErrorContext context = error.context();
      if (!context.hint.empty()) context.hint += "; ";
      context.hint += "the samples are removed, but not yet purged: the same command again does that";
      throw Error(error.code(), error.message(), std::move(context));
    }
  }
  return outcome;
}

Lines change_lines(const ChangeOutcome& outcome) {
  Lines lines;
  const auto& change = outcome.change;
  if (change) lines = lines_of(*change);
  if (outcome.rewriting) {
    const Lines more = lines_of(*outcome.rewriting);
    lines.insert(lines.end(), more.begin(), more.end());
  } else if (change->verb == "remove" && change->num_left == 0 && !change->version.empty()) {
    lines.push_back(fmt::format("no sample is left; `bale convert {}@{} COPY` writes those of the version before",
                                shown_name(change->directory), change->parent));
  }
  return lines;
}

std::string change_json(const ChangeOutcome& outcome) {
  if (!outcome.change) return json_document(json_of(*outcome.rewriting));
  Json report = json_of(*outcome.change);
  if (const auto& packed = outcome.change->added) {
    report["added"] = packed->num_samples;
    report["new_classes"] = bytes_list_to_json(packed->added->new_classes);
    report["existing"] = packed->added->num_existing;
    report["resumed_shards"] = packed->num_resumed_shards;
    report["skipped"] = skipped_json(packed->skipped);
  }
  if (outcome.remarks) add_remarks(*outcome.remarks, report);
  if (outcome.rewriting) report["purged"] = json_of(*outcome.rewriting);
  return json_document(std::move(report));
}

}  // namespace bale
