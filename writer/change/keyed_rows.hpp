// KeyedRows: what a table, or the files of a folder, says of samples, by their keys.
//
// For one thread. Memory: the keys, and 24 bytes for each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bale/formats/base/json/json.hpp"

namespace bale {

class KeyedRows {
 public:
  struct Row {
    std::int64_t value = 0;  // a label, or the number of a value
    std::uint64_t line = 0;  // of the table; 0: it has no lines
    bool is_found = false;
  };

  /// Returns the row of this key that is there already, and does not change it then; else nullptr.
  const Row* add(std::string key, std::int64_t value, std::uint64_t line);
  /// nullptr if there is none. Notes that the dataset has the key.
  const Row* find(std::string_view key);
  /// Throws `not_found` for a key that was not asked for. `path_of` is the file that has the row, `hint_of` what to do
  /// about a key.
  void require_found(const std::string& directory, const std::function<std::string(const Row&)>& path_of,
                     const std::function<std::string(const std::string& key)>& hint_of) const;

 private:
  std::unordered_map<std::string, Row> rows_;
};

/// The error of a sample that the table or folder at `path` does not have, though it has to.
[[noreturn]] void refuse_missing(std::string_view key, const std::string& path);

/// A cell of a table. What JSON has instead of a text is in `json` only, else that is null.
struct KeyedCell {
  std::string key;
  std::string text;
  const Json* json = nullptr;
  std::uint64_t line = 0;
};

/// Calls `take` for each row of a table (.csv, .tsv, .jsonl) with the column `key` and the first of `columns` that it
/// has; if `takes_any`, else with its only other one. Errors, also of `take`, get file and line. Throws
/// `invalid_argument` for a table without these columns, and what RecordReader throws.
void read_keyed_table(const std::string& path, std::span<const std::string> columns, bool takes_any,
                      const std::function<void(KeyedCell& cell)>& take);

}  // namespace bale
