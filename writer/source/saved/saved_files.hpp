// Files of samples as bytes of a saved row, and back.
//
// For one thread.
#pragma once

#include <string>
#include <unordered_map>

#include "bale/writer/source/rows/file_rows.hpp"
#include "bale/writer/source/saved/row_bytes.hpp"

namespace bale {

/// Writes directory, name, size and time of a file.
void save_file(const FileRows& rows, const FileRow& row, RowWriter& out);

/// Reads files of saved rows into a FileRows, each directory once.
class SavedFileReader {
 public:
  /// `rows` must outlive this object.
  explicit SavedFileReader(FileRows& rows) : rows_(rows) {}

  /// Adds the file as a sample.
  FileRow& add_sample(RowReader& in);
  /// Adds the file as the next companion of the sample added last.
  void add_companion(RowReader& in);

 private:
  struct Name {
    std::uint32_t directory;
    std::string_view name;
  };
  Name read_name(RowReader& in);
  static void read_state(RowReader& in, FileRow& row);

  FileRows& rows_;
  std::unordered_map<std::string, std::uint32_t> directories_;  // by path and start of the key
};

}  // namespace bale
