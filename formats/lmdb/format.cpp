#include "bale/formats/shard/format.hpp"

#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/container/reading/file_payload.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/lmdb/lmdb.hpp"
#include "bale/formats/shard/field_rule.hpp"

namespace bale::lmdb {
namespace {

// Finds the samples of a file in our own key scheme (FORMAT.md, "Keys").

class OurScan {
 public:
  OurScan(const BTree& tree, std::string_view primary, IndexBuilder& index)
      : tree_(tree), primary_(primary), index_(index) {}

  void visit(const TreeEntry& entry) {
    if (entry.key == k_header_key) return;
    if (entry.key == k_length_key) {
      length_ = as_text(entry.head);
      return;
    }
    if (entry.key.size() < k_digits || (entry.key.size() > k_digits && entry.key[k_digits] != '.')) fail(entry);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(entry.key.data(), entry.key.data() + k_digits, number);
    if (error != std::errc{} || end != entry.key.data() + k_digits) fail(entry);
    if (num_seen_ == 0 || number != num_seen_ - 1) {
      flush();
      // In key order each sample begins with its number alone, and the numbers have no gaps.
      if (number != num_seen_ || entry.key.size() != k_digits) fail(entry);
      ++num_seen_;
    }
    const std::string_view name = entry.key.size() == k_digits ? "" : entry.key.substr(k_digits + 1);
    if (entry.key.size() == k_digits) {
      fields_.push_back({primary_, entry.offset, entry.length, label_in(entry)});
    } else if (name == k_sample_key_suffix) {
      key_ = text_of(entry);
    } else if (name == k_primary_suffix) {
      fields_.front().name = text_of(entry);
    } else {
      fields_.push_back({std::string(name), entry.offset, entry.length, label_in(entry)});
    }
  }

  void finish() {
    flush();
    if (length_ != std::to_string(num_seen_)) {
      throw Error(ErrorCode::damaged, "__len__ contradicts the samples that are there",
                  {.path = tree_.file().path(), .hint = "copy or pack it again"});
    }
  }

 private:
  struct Field {
    std::string name;
    std::uint64_t offset;
    std::uint32_t length;
    std::int64_t label;  // value of the bytes if this is the label field
  };

  [[noreturn]] void fail(const TreeEntry& entry) const {
    throw Error(ErrorCode::damaged, "an entry out of place",
                {.path = tree_.file().path(), .key = std::string(entry.key), .hint = "copy or pack it again"});
  }

  static std::int64_t label_in(const TreeEntry& entry) {
    return entry.head.size() == entry.length ? parse_label(entry.head) : k_no_label;
  }

  std::string text_of(const TreeEntry& entry) const {
    if (entry.length > k_max_key_bytes) fail(entry);
    std::string text(entry.length, '\0');
    tree_.file().read_exact(entry.offset, {reinterpret_cast<std::byte*>(text.data()), text.size()});
    return text;
  }

  void flush() {
    if (fields_.empty()) return;
    if (!key_) {
      throw Error(ErrorCode::damaged, "a sample without its key",
                  {.path = tree_.file().path(), .key = number_key(num_seen_ - 1), .hint = "copy or pack it again"});
    }
    const std::uint64_t sample = index_.add_sample(*key_);
    for (const Field& field : fields_) {
      const std::uint32_t id = declare_field(index_, field_of_stored_name(field.name), tree_.file().path(), *key_);
      index_.set_extent(sample, id, field.offset, field.length);
      if (field.name == k_label_field) index_.set_label(sample, field.label);
    }
    fields_.clear();
    key_.reset();
  }

  const BTree& tree_;
  std::string primary_;
  IndexBuilder& index_;
  std::uint64_t num_seen_ = 0;
  std::vector<Field> fields_;  // of the current sample, the primary first
  std::optional<std::string> key_;
  std::string length_;
};

/// The primary field's name in a `__bale__` value.
std::string primary_in(std::string_view header, const std::string& path) {
  std::string primary;
  std::uint64_t version = 0;
  try {
    const Json json = parse_json(header);
    version = json.count("version");
    if (version == 1) primary = json.text("primary");
  } catch (const Error&) {
    version = 1;
  }
  if (version != 1) {
    throw Error(ErrorCode::unsupported, "written by a newer bale", {.path = path, .hint = "use that version"});
  }
  if (is_plain_field_name(primary)) return primary;
  throw Error(ErrorCode::damaged, "its __bale__ entry makes no sense", {.path = path, .hint = "copy or pack it again"});
}

void scan_ours(const BTree& tree, std::string_view header, IndexBuilder& index) {
  OurScan scan(tree, primary_in(header, tree.file().path()), index);
  tree.walk(Heads::read, [&](const TreeEntry& entry) { scan.visit(entry); });
  scan.finish();
}

int probe(const ProbeInput& input) {
  std::uint32_t magic = 0;
  if (input.head.size() < k_page_header_bytes + sizeof magic) return 0;
  std::memcpy(&magic, input.head.data() + k_page_header_bytes, sizeof magic);
  return magic == k_magic ? 100 : 0;
}

void scan(const std::string& path, IndexBuilder& index) {
  const BTree tree(path);
  std::string header;
  tree.walk(Heads::skip, [&](const TreeEntry& entry) {
    if (entry.key == k_header_key) header = as_text(entry.head);
  });
  if (header.empty()) {
    scan_foreign(tree, index);
  } else {
    scan_ours(tree, header, index);
  }
}

/// Every field is stored in the file unchanged, so reading needs neither liblmdb nor the tree.
std::unique_ptr<Payload> open(const std::string& path, const ShardIndex&) {
  return std::make_unique<FilePayload>(path);
}

constexpr Layout k_layouts[] = {
    {.name = "plain",
     .suffix = ".lmdb",
     .compresses_fields = true,
     .summary = "one LMDB file per shard: %08d gives the image, %08d.NAME the other fields"}};

}  // namespace
}  // namespace bale::lmdb

namespace bale {

extern const Format k_lmdb_format;
const Format k_lmdb_format{.name = "lmdb",
                           .layouts = lmdb::k_layouts,
                           .probe = lmdb::probe,
                           .scan = lmdb::scan,
                           .open = lmdb::open,
                           .create = lmdb::create_writer,
                           .scan_survives_damage = true,
                           .field_rule = lmdb::k_field_rule};

}  // namespace bale
