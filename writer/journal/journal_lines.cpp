#include "bale/writer/journal/journal_lines.hpp"

#include <array>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/shard/shard_index.hpp"

namespace bale {
namespace {

// Versions of the head line. Version 2 added staged runs, 3 those that also move or remove files at the end.
constexpr std::uint64_t k_direct_version = 1;
constexpr std::uint64_t k_staged_version = 2;
constexpr std::uint64_t k_ending_version = 3;

constexpr JsonStyle k_line{.sorted = true};

Json to_json(const std::vector<Replacement::Move>& moves) {
  Json list = Json::array();
  for (const auto& [staged, path] : moves) list.push_back(Json::list_of(std::array{staged, path}));
  return list;
}

std::vector<Replacement::Move> moves_from_json(const Json& line, const char* name) {
  std::vector<Replacement::Move> moves;
  for (const Json& move : line.list(name)) {
    const std::vector<Json>& names = move.as_list(name);
    if (names.size() != 2) throw Error(ErrorCode::damaged, "not two names");
    moves.emplace_back(names[0].as_text(name), names[1].as_text(name));
  }
  return moves;
}

Json to_json(const Replacement& replacement) {
  Json steps{{"old_manifests", Json::list_of(replacement.old_manifests)},
             {"old_files", Json::list_of(replacement.old_files)},
             {"files", to_json(replacement.files)},
             {"manifests", to_json(replacement.manifests)}};
  if (!replacement.moved_last.empty()) steps["moved_last"] = to_json(replacement.moved_last);
  if (!replacement.removed_last.empty()) steps["removed_last"] = Json::list_of(replacement.removed_last);
  return Json{{"replacement", std::move(steps)}};
}

Json to_json(const FinishedShard& finished) {
  Json fields = Json::array();
  for (const ManifestField& field : finished.fields) {
    fields.push_back(
        Json{{"name", bytes_to_json(field.name)}, {"codec", field.codec}, {"stored_bytes", field.stored_bytes}});
  }
  Json skipped = Json::array();
  for (const SkippedSample& sample : finished.skipped) {
    skipped.push_back(skipped_to_json(sample));
  }
  return Json{{"subdirectory", finished.subdirectory},
              {"file", finished.shard.file},
              {"digest", finished.shard.digest},
              {"num_samples", finished.shard.num_samples},
              {"bytes", finished.shard.bytes},
              {"sidecars", Json::list_of(finished.shard.sidecars)},
              {"fields", fields},
              {"skipped", skipped},
              {"on_error", finished.on_error},
              {"checked_images", finished.checked_images},
              {"undecodable", Json::object_of(finished.undecodable)},
              {"jpegs", Json::object_of(finished.jpegs)}};
}

/// --overwrite removes the files that a journal names, and the journal may come from an untrusted source.
void check_plain(std::string_view name) {
  if (!is_plain_name(name)) throw Error(ErrorCode::damaged, "not a plain file name");
}

void check_names(const FinishedShard& finished) {
  if (!finished.subdirectory.empty()) check_plain(finished.subdirectory);
  for (const std::string& name : finished.shard.sidecars) check_plain(name);
  check_plain(finished.shard.file);
}

/// Checks the paths of files in the destination or in one of its subdirectories.
void check_paths(const std::vector<std::string>& paths) {
  for (const std::string_view path : paths) {
    const std::size_t slash = path.find('/');
    if (slash != std::string_view::npos) check_plain(path.substr(0, slash));
    check_plain(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
  }
}

FinishedShard finished_from_json(const Json& line) {
  FinishedShard finished{.subdirectory = line.text("subdirectory"),
                         .shard = {.file = line.text("file"),
                                   .digest = line.text("digest"),
                                   .num_samples = line.count("num_samples"),
                                   .bytes = line.count("bytes")}};
  if (line.contains("sidecars")) finished.shard.sidecars = line.texts("sidecars");
  for (const Json& field : line.list("fields")) {
    finished.fields.push_back(
        {.name = field.bytes("name"), .codec = field.text("codec"), .stored_bytes = field.count("stored_bytes")});
  }
  for (const Json& sample : line.list("skipped")) {
    finished.skipped.push_back(skipped_from_json(sample));
  }
  finished.on_error = line.text_or_empty("on_error");
  finished.checked_images = line.contains("checked_images") && line.truth("checked_images");
  const auto read_counts = [&](const char* name, std::map<std::string, std::uint64_t>& counts) {
    if (!line.contains(name)) return;
    for (const auto& [kind, count] : line.members(name)) counts[kind] = count.as_count(kind);
  };
  read_counts("undecodable", finished.undecodable);
  read_counts("jpegs", finished.jpegs);
  check_names(finished);
  return finished;
}

Replacement replacement_from_json(const Json& line) {
  Replacement replacement{.old_manifests = line.texts("old_manifests"),
                          .old_files = line.texts("old_files"),
                          .files = moves_from_json(line, "files"),
                          .manifests = moves_from_json(line, "manifests")};
  if (line.contains("moved_last")) replacement.moved_last = moves_from_json(line, "moved_last");
  if (line.contains("removed_last")) replacement.removed_last = line.texts("removed_last");
  check_paths(replacement.old_manifests);
  check_paths(replacement.old_files);
  check_paths(replacement.removed_last);
  for (const auto& [path, new_path] : replacement.moved_last) check_paths({path, new_path});
  for (const auto* const moves : {&replacement.files, &replacement.manifests}) {
    for (const auto& [staged, path] : *moves) {
      check_plain(staged);
      check_paths({path});
    }
  }
  return replacement;
}

void read_head(const Json& line, const std::string& path, JournalContent& content) {
  if (line.contains("bale_journal") && line.count("bale_journal") > k_ending_version) {
    throw Error(ErrorCode::unsupported, "a newer bale wrote this journal",
                {.path = path, .hint = "finish the run with that bale"});
  }
  if (line.contains("last_files")) content.last_files = line.texts("last_files");
  check_paths(content.last_files);
  content.staged = line.contains("staged") && line.truth("staged");
  content.facts = facts_from(line);
  content.plan = line.text("plan");
}

}  // namespace

Json skipped_to_json(const SkippedSample& sample) {
  Json line{{"origin", bytes_to_json(without_secrets(sample.origin))},
            {"why", bytes_to_json(without_secrets(sample.why))}};
  if (!sample.num_samples) line["samples"] = Json();
  if (sample.num_samples && *sample.num_samples != 1) line["samples"] = *sample.num_samples;
  for (const std::string& copy : sample.quarantined) line["quarantined"].push_back(bytes_to_json(copy));
  return line;
}

SkippedSample skipped_from_json(const Json& line) {
  SkippedSample sample{.origin = line.bytes("origin"), .why = line.bytes("why")};
  if (const Json* const count = line.find("samples")) {
    sample.num_samples = count->is_null() ? std::nullopt : std::optional(count->as_count("samples"));
  }
  if (line.contains("quarantined")) sample.quarantined = line.bytes_list("quarantined");
  return sample;
}

std::string head_line(const JournalContent& head) {
  Json line{{"bale_journal", k_direct_version},
            {"plan", head.plan},
            {"last_files", Json::list_of(head.last_files)},
            {"facts", Json::object_of(head.facts)}};
  if (head.staged) {
    line["bale_journal"] = head.ends_later ? k_ending_version : k_staged_version;
    line["staged"] = true;
  }
  return line.dump(k_line);
}

std::string replacement_line(const Replacement& replacement) { return to_json(replacement).dump(k_line); }

std::string finished_to_text(const FinishedShard& finished) { return to_json(finished).dump(k_line); }

FinishedShard finished_from_text(std::string_view line) { return finished_from_json(parse_json(line)); }

std::vector<std::string> JournalContent::published_files() const {
  std::vector<std::string> files;
  if (replacement) {
    files = replacement->old_files;
    for (const auto& [name, path] : replacement->files) files.push_back(path);
    return files;
  }
  if (staged) return files;
  if (!finished.empty()) files = last_files;
  for (const FinishedShard& shard : finished) {
    if (shard.shard.num_samples == 0 && shard.shard.digest.empty()) continue;
    const auto add = [&](const std::string& file) {
      files.push_back(shard.subdirectory.empty() ? file : join_path(shard.subdirectory, file));
    };
    add(shard.shard.file);
    add(index_path(shard.shard.file));
    for (const std::string& sidecar : shard.shard.sidecars) add(sidecar);
  }
  return files;
}

JournalContent parse_journal(std::string_view text, const std::string& path) {
  JournalContent content;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    try {
      const Json line = parse_json(text.substr(0, end));
      if (content.good_bytes == 0) {
        read_head(line, path, content);
      } else if (line.contains("replacement")) {
        content.replacement = replacement_from_json(line.at("replacement"));
      } else {
        content.finished.push_back(finished_from_json(line));
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) throw;
      break;
    }
    content.good_bytes += end + 1;
    text.remove_prefix(end + 1);
  }
  if (content.plan.empty() && !content.replacement) return {};
  return content;
}

Error unfinished_run(const std::string& destination, const JournalContent& unfinished) {
  const bool rewrites = unfinished.facts.contains("verb");
  const bool edits = unfinished.facts.contains("edit");
  const auto command = unfinished.facts.find("command");  // earlier versions have none
  return {ErrorCode::exists,
          rewrites ? fmt::format("holds an unfinished `bale {}`",
                                 command == unfinished.facts.end() ? "rewrite" : printable(command->second))
          : edits ? "holds an unfinished edit"
                   : "holds an unfinished run",
          {.path = destination,
           .hint = rewrites && !unfinished.replacement ? "run that again first, or drop what it left: remove " +
                                                             printable(join_path(destination, k_partial_name))
                   : rewrites ? "run that again first"
                   : edits ? "run the edit again, and continue it with `resume` of its add(), or drop it with `restart`"
                           : "continue it with `resume`, or drop it with `restart`"}};
}

}  // namespace bale
