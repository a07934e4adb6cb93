#include "bale/writer/journal/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/base/key_text.hpp"
#include "bale/formats/shard/shard_index.hpp"
#include "bale/writer/journal/ledger.hpp"

namespace bale {
namespace {

constexpr const char* k_staged_mark = ".staged";
constexpr const char* k_samples_name = "samples.list";  // a line per sample: a hash of its content, and its key
constexpr std::size_t k_hash_digits = 16;

// Versions of the head line. Version 2 added staged runs.
constexpr std::uint64_t k_direct_version = 1;
constexpr std::uint64_t k_staged_version = 2;

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
  return Json{{"replacement",
               {{"old_manifests", Json::list_of(replacement.old_manifests)},
                {"old_files", Json::list_of(replacement.old_files)},
                {"files", to_json(replacement.files)},
                {"manifests", to_json(replacement.manifests)}}}};
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
              {"undecodable", Json::object_of(finished.undecodable)}};
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
  if (line.contains("undecodable")) {
    for (const auto& [kind, count] : line.members("undecodable")) finished.undecodable[kind] = count.as_count(kind);
  }
  check_names(finished);
  return finished;
}

Replacement replacement_from_json(const Json& line) {
  Replacement replacement{.old_manifests = line.texts("old_manifests"),
                          .old_files = line.texts("old_files"),
                          .files = moves_from_json(line, "files"),
                          .manifests = moves_from_json(line, "manifests")};
  check_paths(replacement.old_manifests);
  check_paths(replacement.old_files);
  for (const auto* const moves : {&replacement.files, &replacement.manifests}) {
    for (const auto& [staged, path] : *moves) {
      check_plain(staged);
      check_paths({path});
    }
  }
  return replacement;
}

void read_head(const Json& line, const std::string& path, JournalContent& content) {
  if (line.contains("bale_journal") && line.count("bale_journal") > k_staged_version) {
    throw Error(ErrorCode::unsupported, "a newer bale wrote this journal",
                {.path = path, .hint = "finish the run with that bale"});
  }
  if (line.contains("last_files")) content.last_files = line.texts("last_files");
  check_paths(content.last_files);
  content.staged = line.contains("staged") && line.truth("staged");
  content.facts = facts_from(line);
  content.plan = line.text("plan");
}

/// Whether bale uses this name in the partial directory.
bool is_own_name(const std::string& name) {
  return name == k_journal_name || name == k_samples_name || name.starts_with(DirectoryLock::k_owner_name) ||
         name.find(k_staged_mark) != std::string::npos;
}

/// Whether the name is a placeholder that FUSE or NFS keeps for a file that was removed while it was open.
bool is_ghost(const std::string& name) { return name.starts_with(".fuse_hidden") || name.starts_with(".nfs"); }

void remove_own_files(const Directory& directory) {
  for (const std::string& file : directory.names()) {
    if (is_own_name(file)) directory.remove(file);
  }
}

/// Removes a directory unless it holds other files. Placeholders of bale's own files may remain for some milliseconds
/// after they were closed.
void remove_when_empty(const Directory& destination, const std::string& name, const Directory& directory) {
  constexpr int k_patience = 100;
  for (int i = 0; i < k_patience && !destination.remove_directory(name) && errno == ENOTEMPTY; ++i) {
    const std::vector<std::string> left = directory.names();
    if (!std::all_of(left.begin(), left.end(), is_ghost)) return;
    ::usleep(10'000);
  }
}

/// Removes a renamed partial directory if possible. Nothing needs it.
void clear_away(const Directory& destination) {
  try {
    const std::optional<Directory> directory = destination.find(k_removed_name);
    if (!directory) return;
    remove_own_files(*directory);
    remove_when_empty(destination, k_removed_name, *directory);
  } catch (const Error&) {
    // The dataset is complete without this; the next run tries again.
  }
}

/// It is for messages only, so it need not be durable.
void keep_samples(const ListSamples& samples, const std::string& path) {
  constexpr std::size_t k_buffer_bytes = std::size_t{1} << 16;
  File file = File::create(path);
  std::string text;
  std::uint64_t written = 0;
  const auto write = [&] {
    file.write_at(written, as_bytes(text));
    written += text.size();
    text.clear();
  };
  samples([&](std::string_view key, std::uint64_t content) {
    text += fmt::format("{:0{}x} {}\n", content, k_hash_digits, printed_key(key));
    if (text.size() > k_buffer_bytes) write();
  });
  write();
}

/// Parts of a plan have no lock, so a run must not begin next to them.
void refuse_parts(const Directory& partial, const std::string& destination) {
  for (const std::string& name : partial.names()) {
    if (!name.starts_with(k_parts_prefix)) continue;
    throw Error(ErrorCode::exists, "holds parts of a plan that are not merged",
                {.path = destination, .hint = "finish them with `bale merge`, or choose another directory"});
  }
}

}  // namespace

void make_directories(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) {
    sync_directory(parent_directory(path));
    return;
  }
  if (errno == ENOENT) {
    make_directories(parent_directory(path));
    if (::mkdir(path.c_str(), 0777) == 0) {
      sync_directory(parent_directory(path));
      return;
    }
  }
  struct stat info {};
  if (errno == EEXIST && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return;
  throw_errno("create the directory", path);
}

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
  return content;
}

bool Journal::present(const std::string& destination) {
  struct stat info {};
  return ::lstat(join_path(destination, k_partial_name).c_str(), &info) == 0;
}

JournalContent Journal::look(const std::string& destination) {
  if (!present(destination)) return {};
  const std::optional<Directory> partial = Directory::open(destination).find(k_partial_name);
  if (!partial) return {};
  refuse_parts(*partial, destination);
  if (!partial->holds(k_journal_name)) return {};
  const File file = File::open_read(join_path(partial->path(), k_journal_name));
  DirectoryLock::require_free(*partial, file.fd());
  return parse_journal(as_text(read_file(file.path())), file.path());
}

void Journal::clear_removed(const std::string& destination) { clear_away(Directory::open(destination)); }

Journal::Journal(Directory destination, Directory partial, JournalFile file, DirectoryLock lock)
    : destination_(std::move(destination)),
      partial_(std::move(partial)),
      file_(std::move(file)),
      lock_(std::move(lock)) {}

/// nullopt if a run that ended in the meantime removed what was opened.
std::optional<Journal> Journal::try_open(const std::string& destination) {
  make_directories(destination);
  try {
    Directory directory = Directory::open(destination);
    Directory partial = directory.make(k_partial_name);
    refuse_parts(partial, destination);
    JournalFile file = JournalFile::open(partial, k_journal_name);
    if (!file.is_open()) return std::nullopt;
    DirectoryLock lock = DirectoryLock::take(partial, file.fd());
    try {
      refuse_parts(partial, destination);  // parts that began in the meantime may not have seen this journal
    } catch (...) {
      if (file.text().empty()) partial.remove(k_journal_name);
      throw;
    }
    // The lock is valid only if the journal still has its name.
    if (!file.has_its_name(join_path(join_path(destination, k_partial_name), k_journal_name))) return std::nullopt;
    return Journal(std::move(directory), std::move(partial), std::move(file), std::move(lock));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return std::nullopt;
  }
}

Journal Journal::open(const std::string& destination) {
  constexpr int k_attempts = 100;
  for (int i = 0; i < k_attempts; ++i) {
    std::optional<Journal> opened = try_open(destination);
    if (!opened) {
      ::usleep(10'000);
      continue;
    }
    Journal& journal = *opened;
    journal.content_ = parse_journal(journal.file_.text(), journal.file_.path());
    journal.end_ = journal.content_.good_bytes;
    return std::move(journal);
  }
  throw Error(ErrorCode::retryable, "another bale begins or ends here all the time",
              {.path = destination, .hint = "try again"});
}

void Journal::empty() {
  // The truncation is durable before anything else is written: lines of another run must not follow a new head.
  if (!file_.text().empty()) file_.truncate(0);
  content_ = {};
  end_ = 0;
}

void Journal::begin(const JournalContent& head, const ListSamples& samples) {
  empty();
  for (const std::string& name : partial_.names()) {
    if (name == k_samples_name || name.find(k_staged_mark) != std::string::npos) partial_.remove(name);
  }
  if (samples) keep_samples(samples, path_of(k_samples_name));
  Json line{{"bale_journal", k_direct_version},
            {"plan", head.plan},
            {"last_files", Json::list_of(head.last_files)},
            {"facts", Json::object_of(head.facts)}};
  if (head.staged) {
    line["bale_journal"] = k_staged_version;
    line["staged"] = true;
  }
  append(line.dump(k_line));
  partial_.sync();
  content_ = head;
  content_.good_bytes = end_;
}

ListSamples Journal::kept_samples(const std::string& destination) {
  const std::string path = join_path(join_path(destination, k_partial_name), k_samples_name);
  if (!name_is_taken(path)) return {};
  const std::vector<std::byte> text = read_file(path);
  std::vector<std::pair<std::string, std::uint64_t>> samples;
  for (std::string_view rest = as_text(text); !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    std::uint64_t content = 0;
    const char* const digits_end = line.data() + std::min(line.size(), k_hash_digits);
    const auto [at, error] = std::from_chars(line.data(), digits_end, content, 16);
    if (end == std::string_view::npos || line.size() <= k_hash_digits || error != std::errc{} || at != digits_end)
      return {};
    samples.emplace_back(read_key(line.substr(k_hash_digits + 1)), content);
    rest.remove_prefix(end + 1);
  }
  return [samples = std::move(samples)](const SampleVisitor& visit) {
    for (const auto& [key, content] : samples) visit(key, content);
  };
}

void Journal::resume(bool keep_temporary) {
  std::set<std::string> kept;
  for (const FinishedShard& finished : content_.finished) {
    if (content_.staged) kept.insert(staged_name(finished.subdirectory + finished.shard.file));
    has_recorded_ = has_recorded_ || finished.shard.num_samples != 0;
  }
  if (!keep_temporary) remove_temporary_except(kept);
  if (file_.text().size() != end_) file_.truncate(end_);
}

void Journal::remove_temporary_except(const std::set<std::string>& kept) const {
  const std::size_t mark_length = std::string_view(k_staged_mark).size();
  for (const std::string& name : partial_.names()) {
    const std::size_t mark = name.find(k_staged_mark);
    if (mark != std::string::npos && !kept.contains(name.substr(0, mark + mark_length))) partial_.remove(name);
  }
}

void Journal::append(const std::string& line) {
  const std::string text = line + '\n';
  file_.write(end_, text);
  end_ += text.size();
}

void Journal::record(const FinishedShard& shard) {
  const std::string line = to_json(shard).dump(k_line);
  const std::lock_guard guard(*mutex_);
  has_recorded_ = has_recorded_ || shard.shard.num_samples != 0;
  append(line);
}

void Journal::record(const Replacement& replacement) {
  partial_.sync();  // makes the names of the staged files durable
  append(to_json(replacement).dump(k_line));
  content_.replacement = replacement;
}

void Journal::finish_replacement() {
  try {
    DirectoryTree tree(Directory::open(destination_.path()));
    carry_out(*content_.replacement, tree, partial_);
  } catch (const Error& error) {
    ErrorContext context = error.context();
    context.hint = "the new dataset is complete: run again with `resume` to put it in its place";
    throw Error(error.code(), error.message(), context);
  }
  empty();
}

std::string Journal::staged_name(const std::string& file) { return file + k_staged_mark; }

void Journal::remove() {
  clear_away(destination_);
  // The directory is renamed while the journal is still locked, so that no other run finds it half removed. The journal
  // is closed before it is removed, because a network file system keeps the name of an open file.
  const bool renamed = ::renameat(destination_.fd(), k_partial_name, destination_.fd(), k_removed_name) == 0;
  if (!renamed) remove_own_files(partial_);  // overlayfs cannot rename every directory
  file_.close();
  lock_ = DirectoryLock();
  if (renamed) {
    clear_away(destination_);
  } else {
    remove_when_empty(destination_, k_partial_name, partial_);
  }
  destination_.sync();
}

}  // namespace bale
