// Walks the B+tree of an LMDB file with plain reads and trusts none of its content (FORMAT.md, "File").
//
// liblmdb maps the file and follows page numbers without a check, so a damaged file kills the process that opens it.
// This reader checks every page number, offset and length before use and throws instead. It reads branch and leaf
// pages, and only the first bytes of large values.
//
// Threads: a BTree may be walked by many threads at once. An entry is valid until the visit returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"

namespace bale::lmdb {

inline constexpr std::uint32_t k_magic = 0xBEEFC0DE;
inline constexpr std::size_t k_page_header_bytes = 16;

struct TreeEntry {
  std::string_view key;
  std::uint64_t offset = 0;  // of the value in the file
  std::uint32_t length = 0;  // of the value
  Bytes head{};              // the value's first bytes: all if it lies in a leaf, else up to 64
};

/// Whether to read the first bytes of large values, which costs one read per value.
enum class Heads { skip, read };

class BTree {
 public:
  /// Opens a file and checks both meta pages. Throws `damaged` (not an LMDB file, or truncated) or `unsupported`
  /// (another version, duplicate values, integer keys).
  explicit BTree(const std::string& path);

  /// Calls `visit` for every entry of the main database in key order. Throws `damaged` if a page contradicts the
  /// format, `unsupported` for named databases.
  void walk(Heads heads, const std::function<void(const TreeEntry&)>& visit) const;

  std::uint64_t num_entries() const { return num_entries_; }
  std::uint64_t page_bytes() const { return page_bytes_; }
  const File& file() const { return file_; }

 private:
  struct Walk;
  void descend(Walk& walk, std::uint64_t page, unsigned level) const;
  void visit_leaf_node(Walk& walk, Bytes page, std::uint64_t page_offset, std::size_t node) const;
  [[noreturn]] void fail(std::string_view why, std::uint64_t offset) const;

  File file_;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t last_page_ = 0;
  std::uint64_t root_ = 0;
  unsigned depth_ = 0;
  std::uint64_t num_entries_ = 0;
};

}  // namespace bale::lmdb
