#include "bale/writer/journal.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/json_bytes.hpp"
#include "bale/formats/core/shard_index.hpp"
#include "bale/writer/ledger.hpp"

namespace bale {
namespace {

using Json = nlohmann::json;

constexpr const char* k_journal_name = "journal.jsonl";
constexpr const char* k_staged_mark = ".staged";

std::string partial_directory(const std::string& destination) { return join_path(destination, k_partial_name); }

Json to_json(const FinishedShard& finished) {
  Json fields = Json::array();
  for (const ManifestField& field : finished.fields) {
    fields.push_back(Json{{"name", field.name}, {"codec", field.codec}, {"stored_bytes", field.stored_bytes}});
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
              {"sidecars", finished.shard.sidecars},
              {"fields", fields},
              {"skipped", skipped},
              {"on_error", finished.on_error}};
}

/// Names lead to files that --overwrite removes, and an unfinished pack may come from anywhere.
void check_plain(std::string_view name) {
  if (!is_plain_name(name)) throw Error(ErrorCode::damaged, "not a plain file name");
}

void check_names(const FinishedShard& finished) {
  if (!finished.subdirectory.empty()) check_plain(finished.subdirectory);
  for (const std::string& name : finished.shard.sidecars) check_plain(name);
  check_plain(finished.shard.file);
}

/// Of the last files: names of files in the destination, or in a directory there.
void check_paths(const std::vector<std::string>& paths) {
  for (const std::string_view path : paths) {
    const std::size_t slash = path.find('/');
    if (slash != std::string_view::npos) check_plain(path.substr(0, slash));
    check_plain(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
  }
}

FinishedShard finished_from_json(const Json& line) {
  FinishedShard finished{.subdirectory = line.at("subdirectory"),
                         .shard = {.file = line.at("file"),
                                   .digest = line.at("digest"),
                                   .num_samples = count_from_json(line.at("num_samples")),
                                   .bytes = count_from_json(line.at("bytes")),
                                   .sidecars = line.value("sidecars", std::vector<std::string>{})}};
  for (const Json& field : line.at("fields")) {
    finished.fields.push_back({.name = field.at("name"),
                               .codec = field.at("codec"),
                               .stored_bytes = count_from_json(field.at("stored_bytes"))});
  }
  for (const Json& sample : line.at("skipped")) {
    finished.skipped.push_back(skipped_from_json(sample));
  }
  finished.on_error = line.value("on_error", std::string());
  check_names(finished);
  return finished;
}

struct JournalContent {
  std::string plan;
  std::vector<std::string> last_files;
  std::vector<FinishedShard> finished;
  std::uint64_t good_bytes = 0;  // up to the end of the last whole line
};

/// Reads whole lines; the first one that is torn or not ours ends the journal.
JournalContent read_journal(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::string_view rest = as_text(bytes);
  JournalContent content;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    try {
      const Json line = Json::parse(rest.substr(0, end));
      if (content.good_bytes == 0) {
        content.plan = line.at("plan");
        content.last_files = line.value("last_files", std::vector<std::string>{});
        check_paths(content.last_files);
      } else {
        content.finished.push_back(finished_from_json(line));
      }
    } catch (const Json::exception&) {
      break;
    } catch (const Error&) {
      break;
    }
    content.good_bytes += end + 1;
    rest.remove_prefix(end + 1);
  }
  return content;
}

void lock(const File& journal) {
  if (::flock(journal.fd(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw_errno("lock", journal.path());
  throw Error(ErrorCode::retryable, "another bale is packing into this directory",
              {.path = parent_directory(parent_directory(journal.path())), .hint = "wait for it to end"});
}

}  // namespace

Journal::Journal(std::string directory) : directory_(std::move(directory)) {}

bool Journal::present(const std::string& destination) {
  return ::access(partial_directory(destination).c_str(), F_OK) == 0;
}

File Journal::lock_unfinished(const std::string& destination) {
  const std::string path = join_path(partial_directory(destination), k_journal_name);
  if (::access(path.c_str(), F_OK) != 0) return {};
  File file = File::open_update(path);
  lock(file);
  return file;
}

Journal Journal::start(const std::string& destination, const std::string& plan_fingerprint,
                       const std::vector<std::string>& last_files) {
  Journal journal(partial_directory(destination));
  if (::mkdir(journal.directory_.c_str(), 0755) != 0 && errno != EEXIST) throw_errno("create", journal.directory_);
  sync_directory(destination);
  journal.file_ = File::create(join_path(journal.directory_, k_journal_name));
  lock(journal.file_);
  const std::string head =
      Json{{"bale_journal", 1}, {"plan", plan_fingerprint}, {"last_files", last_files}}.dump() + "\n";
  journal.file_.write_at(0, as_bytes(head));
  journal.file_.sync();
  sync_directory(journal.directory_);
  journal.end_ = head.size();
  return journal;
}

Journal Journal::resume(const std::string& destination, const std::string& plan_fingerprint,
                        const std::vector<std::string>& last_files) {
  Journal journal(partial_directory(destination));
  const std::string path = join_path(journal.directory_, k_journal_name);
  if (::access(path.c_str(), F_OK) != 0) return start(destination, plan_fingerprint, last_files);
  journal.file_ = File::open_update(path);
  lock(journal.file_);
  JournalContent content = read_journal(path);
  if (content.good_bytes == 0) {
    // Killed before the first line was durable: nothing had been published.
    journal.file_.close();
    return start(destination, plan_fingerprint, last_files);
  }
  if (content.plan != plan_fingerprint) {
    throw Error(
        ErrorCode::exists, "holds an unfinished pack of other files or options",
        {.path = destination, .hint = "resume with the same source and options, or start afresh with --overwrite"});
  }
  journal.finished_ = std::move(content.finished);
  journal.end_ = content.good_bytes;
  journal.file_.truncate(journal.end_);
  return journal;
}

void Journal::record(const FinishedShard& shard) {
  const std::string line = to_json(shard).dump() + "\n";
  const std::lock_guard guard(*mutex_);
  file_.write_at(end_, as_bytes(line));
  file_.sync();
  end_ += line.size();
}

std::string Journal::staged_path(const std::string& file) const { return join_path(directory_, file + k_staged_mark); }

std::vector<std::string> Journal::published_files(const std::string& destination) {
  const std::string path = join_path(partial_directory(destination), k_journal_name);
  std::vector<std::string> files;
  if (::access(path.c_str(), F_OK) != 0) return files;
  const JournalContent content = read_journal(path);
  if (!content.finished.empty()) files = content.last_files;
  for (const FinishedShard& finished : content.finished) {
    const std::string file =
        finished.subdirectory.empty() ? finished.shard.file : join_path(finished.subdirectory, finished.shard.file);
    files.push_back(file);
    files.push_back(index_path(file));
    for (const std::string& sidecar : finished.shard.sidecars) {
      files.push_back(finished.subdirectory.empty() ? sidecar : join_path(finished.subdirectory, sidecar));
    }
  }
  return files;
}

void Journal::remove(const std::string& destination) {
  const std::string directory = partial_directory(destination);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name != k_journal_name && name.find(k_staged_mark) != std::string::npos) ::unlink(entry.path().c_str());
  }
  ::unlink(join_path(directory, k_journal_name).c_str());
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) throw_errno("remove", directory);
  sync_directory(destination);
}

}  // namespace bale
