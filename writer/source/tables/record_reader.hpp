// Reads a text file record by record: lines, NUL-separated names, CSV and TSV records (RFC 4180).
//
// Memory: one block and the longest record. For one thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/source/files/long_path.hpp"

namespace bale {

enum class RecordKind { lines, nul_separated, csv, tsv };

class RecordReader {
 public:
  static constexpr std::size_t k_max_record_bytes = std::size_t{16} << 20;

  /// "-" is standard input. Throws `not_found`, `io`.
  RecordReader(const std::string& path, RecordKind kind);
  ~RecordReader();

  /// Moves to the next record, without its line end. Returns false at the end. Throws `io`, and `damaged` for a record
  /// longer than k_max_record_bytes or an unclosed quote.
  bool next();
  /// Where cells end: of tsv a tab; of csv what its first line says ("sep=;", which Excel writes), else by the header
  /// the first of , | ; and tab that is not in quotes there, else a comma. Known after the first record.
  char delimiter() const { return delimiter_; }
  /// Valid until the next call of next().
  std::string_view record() const { return record_; }
  /// Offset of the record in the file, including a byte order mark.
  std::uint64_t offset() const { return offset_; }
  /// Line on which the record starts, from 1; the record's number if records are NUL-separated.
  std::uint64_t line() const { return line_; }

 private:
  void take_delimiter_line();
  void check_separator(std::size_t end) const;
  std::size_t find_end();
  bool fill();

  std::string path_;
  RecordKind kind_;
  char delimiter_;
  bool knows_delimiter_;
  Descriptor file_;
  std::string buffer_;
  std::size_t at_ = 0;      // next record's start in buffer_
  std::uint64_t base_ = 0;  // offset of buffer_ in the file
  bool ended_ = false;
  std::string_view record_;
  std::uint64_t offset_ = 0;
  std::uint64_t line_ = 1;
  std::uint64_t next_line_ = 1;
};

/// Rethrows `error` with file and line added, unless it already names a path.
[[noreturn]] void rethrow_at_line(const Error& error, const std::string& path, std::uint64_t line);

/// Splits the record into cells and removes their quotes. Overwrites `cells`. A quote inside an unquoted cell is text.
/// `skip_spaces`: spaces before a cell do not belong to it, as in "a, b".
void split_cells(std::string_view record, char delimiter, std::vector<std::string>& cells, bool skip_spaces = false);

/// Further columns of one name are called as pandas calls them: x, x.1, x.2.
void tell_apart(std::vector<std::string>& columns);

// ListedText: a text file on disk of which a source has listed parts, to read them again when a sample is read.
//
// Threads: const methods may be called by many threads at once.

class ListedText {
 public:
  /// `what` names the file in errors: "table", "annotations". A literal. Throws `not_found`, `io`.
  ListedText(const std::string& path, std::string_view what);

  const std::string& path() const { return file_.path(); }
  /// Appends `bytes` bytes from `offset` on. Throws `changed` if the file was changed since it was opened, and `io`.
  void append(std::uint64_t offset, std::uint64_t bytes, std::string& out) const;
  std::string read(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void examine(struct stat& info) const;
  void require_unchanged() const;

  File file_;
  std::string_view what_;
  struct stat first_ {};
};

}  // namespace bale
