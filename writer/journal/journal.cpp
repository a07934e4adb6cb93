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
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/text/key_text.hpp"
#include "bale/formats/shard/manifest.hpp"
#include "bale/writer/journal/journal_lines.hpp"

namespace bale {

JournalFile JournalFile::open(const Directory& directory, const std::string& name) {
  constexpr int k_flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  JournalFile file(Descriptor(::openat(directory.fd(), name.c_str(), k_flags, 0666)),
                   join_path(directory.path(), name));
  if (!file.is_open() && errno == ENOENT) return {};
  struct stat info {};
  const bool is_other = file.is_open() ? ::fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode)
                                       : errno == ELOOP || errno == EISDIR || errno == ENXIO;
  if (is_other) {
    throw Error(ErrorCode::exists, "is in the way and was not written by bale",
                {.path = file.path(), .hint = "move it away"});
  }
  if (!file.is_open()) throw_errno("create", file.path());
  return file;
}

bool JournalFile::has_its_name(const std::string& path) const {
  struct stat opened {};
  struct stat named {};
  if (::fstat(fd(), &opened) != 0) throw_errno("examine", path);
  if (::lstat(path.c_str(), &named) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_errno("examine", path);
  }
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::string JournalFile::text() const {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::pread(fd(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("read", path_);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void JournalFile::write(std::uint64_t offset, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::pwrite(fd(), text.data(), text.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_errno("write", path_);
    offset += static_cast<std::uint64_t>(put);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  sync();
}

void JournalFile::truncate(std::uint64_t size) {
  while (::ftruncate(fd(), static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) throw_errno("set the size of", path_);
  }
  sync();
}

void JournalFile::sync() {
  // Not retried: after a failed fsync the kernel may have dropped the dirty pages.
  if (::fsync(fd()) != 0) throw_errno("fsync", path_);
}

namespace {

constexpr const char* k_staged_mark = ".staged";
constexpr const char* k_samples_name = "samples.list";  // a line per sample: a hash of its content, and its key
constexpr std::size_t k_hash_digits = 16;

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
  try {
    const File file = File::open_read(join_path(partial->path(), k_journal_name));
    DirectoryLock::require_free(*partial, file.fd());
    return parse_journal(as_text(read_file(file.path())), file.path());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return {};  // the run ended in the meantime
  }
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
  append(head_line(head));
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
  const std::string line = finished_to_text(shard);
  const std::lock_guard guard(*mutex_);
  has_recorded_ = has_recorded_ || shard.shard.num_samples != 0;
  append(line);
}

void Journal::record(const Replacement& replacement) {
  partial_.sync();  // makes the names of the staged files durable
  append(replacement_line(replacement));
  content_.replacement = replacement;
}

void Journal::finish_replacement() {
  try {
    DirectoryTree tree(Directory::open(destination_.path()));
    carry_out(*content_.replacement, tree, partial_);
  } catch (const Error& error) {
    ErrorContext context = error.context();
    context.hint = content_.is_resumed_on_request()
                       ? "the new dataset is complete: run again with `resume` to put it in its place"
                       : "this is decided: run the same command again to complete it";
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

Journal lock_versions(const std::string& directory) {
  load_manifest(join_path(directory, k_manifest_name));  // else the journal would make a directory
  Journal journal = Journal::open(directory);
  if (journal.content().replacement) {
    journal.finish_replacement();
  } else if (journal.is_unfinished()) {
    throw unfinished_run(directory, journal.content());
  }
  return journal;
}

}  // namespace bale
