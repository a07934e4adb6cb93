// SavedSource: a source without its listing. A plan file keeps a head and one row per sample (Source::save_head() and
// save()), from which another process reads the same samples, without listing the source again.
//
// A file or packed shard that is not what it was is refused with `changed`, which names it.
//
// Threads: const methods may be called by many threads at once. Each SavedRows is for one thread; the Source that it
// makes is used as any Source, and may outlive this object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

// RowWriter and RowReader: numbers and texts of a saved row, one after another. Numbers are LEB128 varints, signed ones
// zigzag-coded; a text is its length and its bytes.
//
// For one thread.

class RowWriter {
 public:
  /// Appends to `out`, which must outlive this object.
  explicit RowWriter(std::string& out) : out_(out) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }

 private:
  std::string& out_;
};

/// Throws `damaged` if the row ends early.
class RowReader {
 public:
  /// Borrows `row`.
  explicit RowReader(std::string_view row) : left_(row) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }
  std::int64_t integer() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  /// Borrows from the row.
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > left_.size()) refuse();
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  bool at_end() const { return left_.empty(); }
  [[noreturn]] static void refuse() { throw Error(ErrorCode::damaged, "a row of the plan is damaged"); }

 private:
  std::string_view left_;
};

/// Rows that become a Source.
class SavedRows {
 public:
  virtual ~SavedRows() = default;
  /// Adds one row of Source::save(). Throws `damaged` if it is none.
  virtual void add(std::string_view row) = 0;
  /// The samples that were added, in this order. Call it once, last.
  virtual std::unique_ptr<Source> finish() = 0;
};

class SavedSource {
 public:
  virtual ~SavedSource() = default;
  /// Opens what Source::save_head() returned. Paths that are relative are relative to the current directory. Throws
  /// `damaged`, and for a packed source what Dataset::open() throws.
  static std::unique_ptr<SavedSource> open(std::string_view head);
  virtual std::unique_ptr<SavedRows> begin_rows() const = 0;
};

// The two kinds of saved sources, and what their heads have in common.

inline constexpr const char* k_saved_files = "files";
inline constexpr const char* k_saved_packed = "packed";

/// Both throw `damaged` for a head of another form.
std::unique_ptr<SavedSource> open_saved_files(const Json& head);
std::unique_ptr<SavedSource> open_saved_packed(const Json& head);

Json losses_to_json(const std::vector<SourceLoss>& losses);
std::vector<SourceLoss> losses_from_json(const std::vector<Json>& list);

}  // namespace bale
