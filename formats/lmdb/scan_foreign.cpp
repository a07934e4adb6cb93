// Finds the samples of files from other tools, by the shape of their keys and values (FORMAT.md, "Foreign files").
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "bale/formats/authoring/scanned_fields.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/lmdb/datum.hpp"
#include "bale/formats/lmdb/key_scheme.hpp"
#include "bale/formats/lmdb/scan.hpp"
#include "bale/formats/shard/key.hpp"

namespace bale::lmdb {
namespace {

constexpr std::string_view k_keys_key = "__keys__";      // tensorpack, Efficient-PyTorch: a pickled list
constexpr std::string_view k_count_key = "num-samples";  // CRNN
constexpr std::string_view k_image_prefix = "image-";
constexpr std::string_view k_text_prefix = "label-";
constexpr std::size_t k_max_digits = 18;

bool is_about_the_file(std::string_view key) { return key == k_keys_key || key == k_length_key || key == k_count_key; }

/// Field name by the first bytes of an image; empty if they are not those of an image.
std::string_view image_field_of(Bytes head) {
  const ImageKind kind = probe_image(head).kind;
  return kind == ImageKind::unknown ? std::string_view{} : image_field_name(kind);
}

/// A key made of a number: "00000012", "12", "00000012.cls", "image-000000012".
struct NumberedKey {
  std::uint64_t number;
  std::size_t digits;
  std::string_view prefix;
  std::optional<std::string_view> extension;
};

std::optional<NumberedKey> parse_numbered(std::string_view key) {
  NumberedKey parsed{};
  for (const std::string_view prefix : {k_image_prefix, k_text_prefix}) {
    if (key.starts_with(prefix)) parsed.prefix = prefix;
  }
  const std::string_view rest = key.substr(parsed.prefix.size());
  parsed.digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (parsed.digits == 0 || parsed.digits > k_max_digits) return std::nullopt;
  std::from_chars(rest.data(), rest.data() + parsed.digits, parsed.number);
  if (parsed.digits == rest.size()) return parsed;
  if (!parsed.prefix.empty() || rest[parsed.digits] != '.') return std::nullopt;
  parsed.extension = rest.substr(parsed.digits + 1);
  return parsed;
}

/// What all keys of a file have in common. Needs one pass over the keys.
struct KeyShape {
  bool numbered = true;   // every key parses
  bool prefixed = false;  // image-/label- pairs
  bool unprefixed = false;
  bool python_list = false;  // the file has a pickled list of keys
  std::size_t min_digits = k_max_digits;
  std::size_t max_digits = 0;
  bool padded = false;  // some number has leading zeros
  std::vector<std::uint64_t> numbers{};

  void add(std::string_view key) {
    if (key == k_keys_key) python_list = true;
    if (!numbered || is_about_the_file(key)) return;
    const auto parsed = parse_numbered(key);
    if (!parsed) {
      numbered = false;
      return;
    }
    (parsed->prefix.empty() ? unprefixed : prefixed) = true;
    min_digits = std::min(min_digits, parsed->digits);
    max_digits = std::max(max_digits, parsed->digits);
    const char first = key[parsed->prefix.size()];
    padded = padded || (first == '0' && parsed->digits > 1);
    if (numbers.empty() || numbers.back() != parsed->number) numbers.push_back(parsed->number);
  }

  /// Whether a number determines its key: all numbers have the same width, or none is padded.
  bool is_numbered() const { return numbered && !(prefixed && unprefixed) && (min_digits == max_digits || !padded); }
};

class ForeignScan {
 public:
  ForeignScan(const BTree& tree, KeyShape shape, IndexBuilder& index)
      : tree_(tree), shape_(std::move(shape)), index_(index) {
    if (!shape_.is_numbered()) return;
    // The file has unpadded keys in the order 0, 1, 10, 2. Samples are ordered by number.
    std::sort(shape_.numbers.begin(), shape_.numbers.end());
    shape_.numbers.erase(std::unique(shape_.numbers.begin(), shape_.numbers.end()), shape_.numbers.end());
    for (const std::uint64_t number : shape_.numbers) {
      std::string key = std::to_string(number);
      if (shape_.padded) key.insert(0, shape_.max_digits - key.size(), '0');
      index_.add_sample(key);
    }
  }

  void visit(const TreeEntry& entry) {
    if (is_about_the_file(entry.key)) return;
    if (!shape_.is_numbered()) {
      add_value(index_.add_sample(entry.key), entry);
      return;
    }
    const auto parsed = parse_numbered(entry.key);
    const std::uint64_t number = parsed ? parsed->number : 0;
    const auto place = std::lower_bound(shape_.numbers.begin(), shape_.numbers.end(), number);
    if (!parsed || place == shape_.numbers.end() || *place != number) {
      throw Error(ErrorCode::changed, "a key that was not there a moment ago",
                  {.path = tree_.file().path(), .key = std::string(entry.key), .hint = "stop whoever writes to it"});
    }
    const NumberedKey& key = *parsed;
    const auto sample = static_cast<std::uint64_t>(place - shape_.numbers.begin());
    if (key.extension || key.prefix == k_text_prefix) {
      const std::string name = key.extension ? field_name(*key.extension) : "txt";
      const bool is_set = set_field(sample, name, entry.offset, entry.length, entry);
      const bool is_label = name == k_label_field && entry.head.size() == entry.length;
      if (is_set && is_label) index_.set_label(sample, parse_label(entry.head));
    } else {
      add_value(sample, entry);
    }
  }

 private:
  /// Adds a value whose key does not name its field.
  void add_value(std::uint64_t sample, const TreeEntry& entry) {
    const std::string_view image = image_field_of(entry.head);
    if (!image.empty()) {
      set_field(sample, image, entry.offset, entry.length, entry);
      return;
    }
    refuse_python_objects(entry);
    if (const auto datum = parse_datum(tree_.file(), {entry.offset, entry.length})) {
      add_datum(sample, *datum, entry);
    } else {
      set_field(sample, "bin", entry.offset, entry.length, entry);
    }
  }

  void add_datum(std::uint64_t sample, const Datum& datum, const TreeEntry& entry) {
    if (datum.label) index_.set_label(sample, *datum.label);
    std::array<std::byte, 16> buffer{};
    const MutableBytes head = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), datum.data.length));
    tree_.file().read_exact(datum.data.offset, head);
    const std::string_view image = image_field_of(head);
    if (datum.encoded || !image.empty()) {
      const std::string_view name = image.empty() ? "bin" : image;
      set_field(sample, name, datum.data.offset, static_cast<std::uint32_t>(datum.data.length), entry);
    } else {
      set_field(sample, "datum", entry.offset, entry.length, entry);
      index_.set_dimensions(sample, datum.width, datum.height);
    }
  }

  /// False if the sample already has the field.
  bool set_field(std::uint64_t sample, std::string_view name, std::uint64_t offset, std::uint32_t length,
                 const TreeEntry& entry) {
    const std::uint32_t field = declare_field(index_, {.name = std::string(name)}, tree_.file().path(), entry.key);
    if (index_.extent(sample, field).present()) {
      index_.notices().add(entry.key, "entry whose field another entry has taken");
      return false;
    }
    index_.set_extent(sample, field, offset, length);
    return true;
  }

  /// A pickle begins with PROTO (0x80) and its protocol number, and ends with STOP ('.'). Loading one can run any code,
  /// so bale never does.
  void refuse_python_objects(const TreeEntry& entry) const {
    const std::string_view head = as_text(entry.head);
    bool is_pickle = head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
    if (is_pickle) {
      std::array<std::byte, 1> last{};
      tree_.file().read_exact(entry.offset + entry.length - 1, last);
      is_pickle = last[0] == std::byte{'.'};
    }
    if (!is_pickle && !shape_.python_list) return;
    throw Error(ErrorCode::unsupported, "values are Python pickles, which bale never loads",
                {.path = tree_.file().path(),
                 .key = std::string(entry.key),
                 .hint = "load it in Python and write the image bytes themselves as values"});
  }

  const BTree& tree_;
  KeyShape shape_;
  IndexBuilder& index_;
};

}  // namespace

void scan_foreign(const BTree& tree, IndexBuilder& index) {
  KeyShape shape;
  tree.walk(Heads::skip, [&](const TreeEntry& entry) { shape.add(entry.key); });
  ForeignScan scan(tree, std::move(shape), index);
  tree.walk(Heads::read, [&](const TreeEntry& entry) { scan.visit(entry); });
}

}  // namespace bale::lmdb
