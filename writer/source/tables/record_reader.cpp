#include "bale/writer/source/tables/record_reader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/files/text_files.hpp"

namespace bale {
namespace {

constexpr std::size_t k_block_bytes = std::size_t{256} << 10;
constexpr std::size_t k_delimiter_line_bytes = 9;  // "sep=;" with quotes and its end

/// Follows a record byte by byte, as split_cells() parses it. Knows whether the next byte is inside quotes.
class QuoteState {
 public:
  explicit QuoteState(char delimiter) : delimiter_(delimiter) {}

  void take(char c) {
    const bool may_open = at_ == At::cell_start || at_ == At::quote_in_quotes;  // a doubled quote reopens
    if (at_ == At::quoted) {
      if (c == '"') at_ = At::quote_in_quotes;
    } else if (c == '"' && may_open) {
      at_ = At::quoted;
    } else {
      at_ = c == delimiter_ ? At::cell_start : At::unquoted;
    }
  }
  bool quoted() const { return at_ == At::quoted; }

 private:
  enum class At { cell_start, unquoted, quoted, quote_in_quotes };
  char delimiter_;
  At at_ = At::cell_start;
};

char delimiter_of(std::string_view header) {
  for (const char delimiter : {',', '|', ';', '\t'}) {
    QuoteState state(delimiter);
    for (const char c : header) {
      if (c == delimiter && !state.quoted()) return delimiter;
      state.take(c);
    }
  }
  return ',';
}

}  // namespace

RecordReader::RecordReader(const std::string& path, RecordKind kind)
    : path_(path),
      kind_(kind),
      delimiter_(kind == RecordKind::tsv ? '\t' : ','),
      knows_delimiter_(kind != RecordKind::csv) {
  if (path == "-") {
    path_ = "standard input";
    file_ = Descriptor(0);
  } else {
    require_local_name(path);
    file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file_.valid() && (errno == ENOENT || errno == ENOTDIR)) {
      throw Error(ErrorCode::not_found, "no such file", {.path = path, .hint = "check the path"});
    }
    if (!file_.valid()) throw_errno("open", path);
  }
  while (buffer_.size() < 3 && fill()) {
  }
  if (kind != RecordKind::nul_separated) refuse_utf16(buffer_, path_);
  if (buffer_.starts_with("\xEF\xBB\xBF") && kind != RecordKind::nul_separated) at_ = 3;
  if (kind == RecordKind::csv) take_delimiter_line();
}

RecordReader::~RecordReader() {
  if (file_.get() == 0) file_.release();  // do not close standard input
}

bool RecordReader::fill() {
  if (ended_) return false;
  if (at_ > 0) {
    buffer_.erase(0, at_);
    base_ += at_;
    at_ = 0;
  }
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + k_block_bytes);
  ssize_t got = -1;
  do {
    got = ::read(file_.get(), buffer_.data() + kept, k_block_bytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw_errno("read", path_);
  buffer_.resize(kept + static_cast<std::size_t>(got));
  ended_ = got == 0;
  return !ended_;
}

/// Position in the buffer of the end of the record that starts at `at_`: its separator or the end of the file.
std::size_t RecordReader::find_end() {
  const char separator = kind_ == RecordKind::nul_separated ? '\0' : '\n';
  const bool quotes = kind_ == RecordKind::csv || kind_ == RecordKind::tsv;
  QuoteState state(delimiter_);
  std::size_t length = 0;
  for (;;) {
    if (quotes) {
      for (; at_ + length < buffer_.size(); ++length) {
        const char c = buffer_[at_ + length];
        if (c == '\n' && !state.quoted()) return at_ + length;
        state.take(c);
      }
    } else {
      const std::size_t found = buffer_.find(separator, at_ + length);
      if (found != std::string::npos) return found;
      length = buffer_.size() - at_;
    }
    if (length > k_max_record_bytes) {
      throw Error(ErrorCode::damaged, fmt::format("line {}: longer than 16 MiB", line_),
                  {.path = path_, .hint = "is it the kind of file it was said to be?"});
    }
    if (!fill()) break;
  }
  if (state.quoted())
    throw Error(ErrorCode::damaged, fmt::format("line {}: a quote is never closed", line_), {.path = path_});
  return buffer_.size();
}

void RecordReader::take_delimiter_line() {
  while (buffer_.size() < at_ + k_delimiter_line_bytes && fill()) {
  }
  const std::string_view text = std::string_view(buffer_).substr(at_);
  const std::size_t end = text.find('\n');
  const std::optional<char> said = delimiter_said_in(text.substr(0, end));
  if (!said || end == std::string_view::npos) return;
  delimiter_ = *said;
  knows_delimiter_ = true;
  at_ += end + 1;
  ++next_line_;
}

/// Refuses a list that is separated in the other way, whose one line would be a name that no file has, and texts whose
/// lines are none.
void RecordReader::check_separator(std::size_t end) const {
  const bool is_table = kind_ == RecordKind::csv || kind_ == RecordKind::tsv;
  const std::size_t bare = is_table && line_ == 1 ? record_.find('\r') : std::string_view::npos;
  if (bare < record_.size() - 1 && record_[bare + 1] != '\n') {
    throw Error(ErrorCode::unsupported, "its lines end with CR alone",
                {.path = path_, .hint = "save it with lines that end with LF or CR LF"});
  }
  if (kind_ == RecordKind::lines && record_.find('\0') != std::string_view::npos) {
    throw Error(ErrorCode::invalid_argument, "the names in the list end with NUL, not newline",
                {.path = path_, .hint = "give `null`"});
  }
  const bool is_whole_file = kind_ == RecordKind::nul_separated && offset_ == 0 && end == buffer_.size();
  if (is_whole_file && record_.find('\n') != std::string_view::npos) {
    throw Error(ErrorCode::invalid_argument, "the names in the list end with newline, not NUL",
                {.path = path_, .hint = "leave `null` out"});
  }
}

bool RecordReader::next() {
  line_ = next_line_;
  if (at_ >= buffer_.size() && !fill()) return false;
  const std::size_t end = find_end();
  offset_ = base_ + at_;
  record_ = std::string_view(buffer_).substr(at_, end - at_);
  check_separator(end);
  next_line_ += 1;
  if (kind_ != RecordKind::nul_separated) {
    next_line_ += static_cast<std::uint64_t>(std::count(record_.begin(), record_.end(), '\n'));
  }
  at_ = std::min(end + 1, buffer_.size());
  if (kind_ != RecordKind::nul_separated && record_.ends_with('\r')) record_.remove_suffix(1);
  if (!knows_delimiter_) delimiter_ = delimiter_of(record_);
  knows_delimiter_ = true;
  return true;
}

void rethrow_at_line(const Error& error, const std::string& path, std::uint64_t line) {
  ErrorContext context = error.context();
  if (!context.path.empty()) throw error;
  context.path = path;
  throw Error(error.code(), place_in_text(line) + error.message(), std::move(context));
}

void split_cells(std::string_view record, char delimiter, std::vector<std::string>& cells, bool skip_spaces) {
  cells.clear();
  std::size_t at = 0;
  for (;;) {
    std::string& cell = cells.emplace_back();
    while (skip_spaces && at < record.size() && record[at] == ' ') ++at;
    if (at < record.size() && record[at] == '"') {
      for (++at; at < record.size(); ++at) {
        if (record[at] == '"') {
          if (at + 1 == record.size() || record[at + 1] != '"') break;
          ++at;
        }
        cell += record[at];
      }
      at = std::min(at + 1, record.size());
    }
    const std::size_t end = std::min(record.find(delimiter, at), record.size());
    cell += record.substr(at, end - at);
    if (end == record.size()) return;
    at = end + 1;
  }
}

void tell_apart(std::vector<std::string>& columns) {
  std::set<std::string> taken(columns.begin(), columns.end());
  std::set<std::string> seen;
  for (std::string& column : columns) {
    std::string name = column;
    for (int number = 1; seen.contains(name) || (number > 1 && taken.contains(name)); ++number) {
      name = fmt::format("{}.{}", column, number);
    }
    seen.insert(name);
    column = std::move(name);
  }
}

ListedText::ListedText(const std::string& path, std::string_view what) : file_(File::open_read(path)), what_(what) {
  examine(first_);
}

void ListedText::append(std::uint64_t offset, std::uint64_t bytes, std::string& out) const {
  require_unchanged();
  const std::size_t start = out.size();
  out.resize(start + bytes);
  file_.read_exact(offset, {reinterpret_cast<std::byte*>(out.data() + start), bytes});
  require_unchanged();
}

void ListedText::require_unchanged() const {
  struct stat now {};
  examine(now);
  if (now.st_size == first_.st_size && mtime_ns(now) == mtime_ns(first_)) return;
  throw Error(ErrorCode::changed, fmt::format("the {} changed since it was listed", what_),
              {.path = path(), .hint = "pack again when nothing writes to it"});
}

std::string ListedText::read(std::uint64_t offset, std::uint64_t bytes) const {
  std::string text;
  append(offset, bytes, text);
  return text;
}

void ListedText::examine(struct stat& info) const {
  if (::fstat(file_.fd(), &info) != 0) throw_errno("examine", path());
}

}  // namespace bale
