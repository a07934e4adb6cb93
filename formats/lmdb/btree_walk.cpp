#include "bale/formats/lmdb/btree_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "bale/formats/base/error.hpp"

namespace bale::lmdb {
namespace {

// Names as in liblmdb's mdb.c (0.9.24); FORMAT.md has the tables.
constexpr std::uint16_t k_page_branch = 0x01;
constexpr std::uint16_t k_page_leaf = 0x02;
constexpr std::uint16_t k_page_overflow = 0x04;
constexpr std::uint16_t k_page_meta = 0x08;
constexpr std::uint16_t k_page_kinds = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40;
constexpr std::uint16_t k_node_big = 0x01;
constexpr std::uint16_t k_database_dupsort = 0x04;
constexpr std::uint64_t k_no_root = ~std::uint64_t{0};
constexpr std::size_t k_node_header_bytes = 8;
constexpr std::size_t k_meta_bytes = 136;
constexpr unsigned k_max_depth = 32;  // CURSOR_STACK
constexpr std::size_t k_head_bytes = 64;

struct Meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint16_t page_flags;
  std::uint32_t page_bytes;
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t num_entries;
  std::uint64_t root;
  std::uint64_t last_page;
  std::uint64_t transaction;
};

/// Precondition: `page` holds at least the page header and the meta structure.
Meta parse_meta(Bytes page) {
  const Bytes meta = page.subspan(k_page_header_bytes);
  const std::size_t main = 72;  // mm_dbs[1]
  return {.magic = load_at<std::uint32_t>(meta.data()),
          .version = load_at<std::uint32_t>(meta.data() + 4),
          .page_flags = load_at<std::uint16_t>(page.data() + 10),
          .page_bytes = load_at<std::uint32_t>(meta.data() + 24),
          .flags = load_at<std::uint16_t>(meta.data() + main + 4),
          .depth = load_at<std::uint16_t>(meta.data() + main + 6),
          .num_entries = load_at<std::uint64_t>(meta.data() + main + 32),
          .root = load_at<std::uint64_t>(meta.data() + main + 40),
          .last_page = load_at<std::uint64_t>(meta.data() + 120),
          .transaction = load_at<std::uint64_t>(meta.data() + 128)};
}

}  // namespace

struct BTree::Walk {
  Heads heads;
  const std::function<void(const TreeEntry&)>& visit;
  std::vector<std::vector<std::byte>> pages;  // one per level, reused
  std::uint64_t tree_pages = 0;
  std::uint64_t value_pages = 0;
  std::uint64_t entries = 0;
  std::string last_key{};
};

void BTree::fail(std::string_view why, std::uint64_t offset) const {
  throw Error(ErrorCode::damaged, why, {.path = file_.path(), .offset = offset, .hint = "copy or pack it again"});
}

BTree::BTree(const std::string& path) : file_(File::open_read(path)) {
  std::array<std::byte, k_page_header_bytes + k_meta_bytes> buffer{};
  const std::uint64_t file_bytes = file_.size();
  const auto read_meta = [&](std::uint64_t offset) {
    if (file_bytes < buffer.size() || offset > file_bytes - buffer.size()) fail("cut short inside its header", offset);
    file_.read_exact(offset, buffer);
    const Meta meta = parse_meta(buffer);
    if (meta.magic != k_magic || (meta.page_flags & k_page_meta) == 0) fail("not an LMDB meta page", offset);
    if (meta.version != 1) {
      throw Error(ErrorCode::unsupported, fmt::format("LMDB data version {}, bale reads 1", meta.version),
                  {.path = path, .hint = "export it again with LMDB 0.9"});
    }
    return meta;
  };
  const Meta first = read_meta(0);
  if (!std::has_single_bit(first.page_bytes) || first.page_bytes < 512 || first.page_bytes > 65536) {
    fail(fmt::format("impossible page size {}", first.page_bytes), 0);
  }
  page_bytes_ = first.page_bytes;
  const Meta second = read_meta(page_bytes_);
  if (second.page_bytes != first.page_bytes) fail("meta pages disagree about the page size", page_bytes_);

  const bool newer_is_second = second.transaction > first.transaction;
  const Meta& meta = newer_is_second ? second : first;
  const std::uint64_t meta_offset = newer_is_second ? page_bytes_ : 0;
  if (meta.last_page < 1 || meta.last_page >= file_bytes / page_bytes_) {
    fail(
        fmt::format("cut short: {} bytes, its header says {} pages of {}", file_bytes, meta.last_page + 1, page_bytes_),
        meta_offset);
  }
  if ((meta.flags & k_database_dupsort) != 0) {
    throw Error(ErrorCode::unsupported, "an LMDB database with duplicate keys (MDB_DUPSORT)",
                {.path = path, .hint = "export it to one value a key"});
  }
  if (meta.flags != 0) {
    throw Error(ErrorCode::unsupported, fmt::format("an LMDB database with flags {:#x}", meta.flags),
                {.path = path, .hint = "export it to a database with plain byte keys"});
  }
  last_page_ = meta.last_page;
  root_ = meta.root;
  depth_ = meta.depth;
  num_entries_ = meta.num_entries;
  if (depth_ > k_max_depth || (root_ == k_no_root) != (depth_ == 0)) fail("impossible tree depth", meta_offset);
}

void BTree::walk(Heads heads, const std::function<void(const TreeEntry&)>& visit) const {
  Walk walk{.heads = heads, .visit = visit, .pages = std::vector<std::vector<std::byte>>(depth_)};
  if (depth_ > 0) descend(walk, root_, 1);
  if (walk.entries != num_entries_) {
    fail(fmt::format("found {} entries, header says {}", walk.entries, num_entries_), 0);
  }
}

void BTree::descend(Walk& walk, std::uint64_t page_number, unsigned level) const {
  if (page_number < 2 || page_number > last_page_) fail("page number out of range", 0);
  // No page is in the tree twice, so more visits than pages mean a loop.
  if (++walk.tree_pages > last_page_) fail("pages form a loop", page_number * page_bytes_);
  const std::uint64_t offset = page_number * page_bytes_;
  std::vector<std::byte>& storage = walk.pages[level - 1];
  storage.resize(page_bytes_);
  file_.read_exact(offset, storage);
  const Bytes page = storage;

  const bool is_leaf = level == depth_;
  const auto flags = load_at<std::uint16_t>(page.data() + 10);
  if (load_at<std::uint64_t>(page.data()) != page_number) fail("page does not carry its own number", offset);
  if ((flags & k_page_kinds) != (is_leaf ? k_page_leaf : k_page_branch)) fail("page of another kind", offset);
  const std::size_t lower = load_at<std::uint16_t>(page.data() + 12);
  const std::size_t upper = load_at<std::uint16_t>(page.data() + 14);
  if (lower <= k_page_header_bytes || lower % 2 != 0 || lower > upper || upper > page.size()) {
    fail("impossible page bounds", offset);
  }
  for (std::size_t at = k_page_header_bytes; at < lower; at += 2) {
    const std::size_t node = load_at<std::uint16_t>(page.data() + at);
    if (node < upper || node + k_node_header_bytes > page.size()) fail("node outside its page", offset);
    if (is_leaf) {
      visit_leaf_node(walk, page, offset, node);
    } else {
      const std::uint64_t child = load_at<std::uint32_t>(page.data() + node) |
                                  std::uint64_t{load_at<std::uint16_t>(page.data() + node + 4)} << 32;
      descend(walk, child, level + 1);
    }
  }
}

void BTree::visit_leaf_node(Walk& walk, Bytes page, std::uint64_t page_offset, std::size_t node) const {
  const auto length = load_at<std::uint32_t>(page.data() + node);
  const auto flags = load_at<std::uint16_t>(page.data() + node + 4);
  const std::size_t key_bytes = load_at<std::uint16_t>(page.data() + node + 6);
  const std::size_t value = node + k_node_header_bytes + key_bytes;
  const bool is_big = (flags & k_node_big) != 0;
  if (value > page.size() || (is_big ? sizeof(std::uint64_t) : length) > page.size() - value) {
    fail("node runs out of its page", page_offset + node);
  }
  const std::string_view key = as_text(page.subspan(node + k_node_header_bytes, key_bytes));
  if ((flags & ~k_node_big) != 0) {
    throw Error(
        ErrorCode::unsupported, "an LMDB file with named databases",
        {.path = file_.path(), .key = std::string(key), .hint = "export the database you want to a file of its own"});
  }
  // If keys are strictly ascending, no page is visited twice.
  if (key.empty() || (walk.entries > 0 && !(walk.last_key < key))) fail("keys out of order", page_offset + node);
  walk.last_key = key;
  ++walk.entries;
  TreeEntry entry{.key = key, .offset = page_offset + value, .length = length};
  if (!is_big) {
    entry.head = page.subspan(value, length);
    walk.visit(entry);
    return;
  }

  const auto first_page = load_at<std::uint64_t>(page.data() + value);
  if (first_page < 2 || first_page > last_page_) fail("value's page number out of range", page_offset + node);
  const std::uint64_t overflow = first_page * page_bytes_;
  entry.offset = overflow + k_page_header_bytes;
  if (length > (last_page_ + 1 - first_page) * page_bytes_ - k_page_header_bytes) {
    fail("value runs out of the file", page_offset + node);
  }
  // No page belongs to two values. If values shared pages, a small file could hold values of any total size.
  walk.value_pages += (length + k_page_header_bytes + page_bytes_ - 1) / page_bytes_;
  if (walk.value_pages > last_page_) fail("values share their pages", page_offset + node);
  std::array<std::byte, k_page_header_bytes + k_head_bytes> buffer;
  if (walk.heads == Heads::read) {
    const std::size_t head_bytes = std::min<std::size_t>(length, k_head_bytes);
    file_.read_exact(overflow, MutableBytes(buffer).first(k_page_header_bytes + head_bytes));
    const std::uint64_t pages = load_at<std::uint32_t>(buffer.data() + 12);
    if (load_at<std::uint64_t>(buffer.data()) != first_page ||
        (load_at<std::uint16_t>(buffer.data() + 10) & k_page_kinds) != k_page_overflow ||
        length + k_page_header_bytes > pages * page_bytes_ || pages > last_page_ + 1 - first_page) {
      fail("value's page contradicts its entry", overflow);
    }
    entry.head = Bytes(buffer).subspan(k_page_header_bytes, head_bytes);
  }
  walk.visit(entry);
}

}  // namespace bale::lmdb
