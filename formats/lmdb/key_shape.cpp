#include "bale/formats/lmdb/key_shape.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/lmdb/lmdb.hpp"

namespace bale::lmdb {
namespace {

constexpr std::string_view k_keys_key = "__keys__";      // tensorpack, Efficient-PyTorch: a pickled list
constexpr std::string_view k_count_key = "num-samples";  // CRNN
// Others that give a number of samples, if their value is digits.
constexpr std::array<std::string_view, 8> k_count_keys{"length",   "len",       "count",      "num_samples",
                                                       "nsamples", "n_samples", "num-images", "num_images"};
constexpr std::string_view k_image_list = "image";
constexpr std::size_t k_max_digits = 18;
constexpr std::size_t k_probe_bytes = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::uint64_t> count_in(Bytes value) {
  const std::string_view text = as_text(value);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > k_max_digits) return std::nullopt;
  if (text.find_first_not_of(std::string_view(" \r\n\0", 4), digits) != std::string_view::npos) return std::nullopt;
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + digits, count);
  return count;
}

/// Whether a value is an image, which costs a read if it does not lie in a leaf.
bool is_image(const BTree& tree, const TreeEntry& entry) {
  if (entry.length == 0 || !entry.head.empty()) return !image_field_of(entry.head).empty();
  std::array<std::byte, k_probe_bytes> buffer{};
  const MutableBytes head = MutableBytes(buffer).first(std::min<std::size_t>(buffer.size(), entry.length));
  tree.file().read_exact(entry.offset, head);
  return !image_field_of(head).empty();
}

// In lower case only: cameras call their files IMG_0001.
bool names_images(std::string_view list) { return list.starts_with("image") || list.starts_with("img"); }

}  // namespace

std::string_view image_field_of(Bytes head) {
  const ImageKind kind = probe_image(head).kind;
  return kind == ImageKind::unknown ? std::string_view{} : image_field_name(kind);
}

std::optional<NumberedKey> parse_numbered(std::string_view key) {
  NumberedKey parsed;
  std::string_view rest = key;
  if (!key.empty() && !is_digit(key.front()) && is_digit(key.back())) {
    const std::size_t last = key.find_last_not_of("0123456789");
    if (last == 0 || (key[last] != '-' && key[last] != '_')) return std::nullopt;
    parsed.list = key.substr(0, last);
    rest = key.substr(last + 1);
  }
  parsed.digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (parsed.digits == 0 || parsed.digits > k_max_digits) return std::nullopt;
  std::from_chars(rest.data(), rest.data() + parsed.digits, parsed.number);
  if (parsed.digits == rest.size()) return parsed;
  if (rest[parsed.digits] != '.') return std::nullopt;
  parsed.extension = rest.substr(parsed.digits + 1);
  return parsed;
}

KeyShape::KeyShape(const BTree& tree) {
  tree.walk(Heads::skip, [&](const TreeEntry& entry) { add(tree, entry); });
  choose_kind();
}

void KeyShape::add(const BTree& tree, const TreeEntry& entry) {
  if (entry.key == k_keys_key) has_python_list_ = true;
  if (add_about_the_file(entry)) return;
  const auto parsed = parse_numbered(entry.key);
  if (!parsed || !parsed->list.empty()) {
    has_named_images_ = has_named_images_ || is_image(tree, entry);
    if (parsed) add_to_list(tree, entry, *parsed);
    return;
  }
  min_digits_ = std::min(min_digits_, parsed->digits);
  max_digits_ = std::max(max_digits_, parsed->digits);
  is_padded_ = is_padded_ || (entry.key.front() == '0' && parsed->digits > 1);
  if (numbers_.empty() || numbers_.back() != parsed->number) numbers_.push_back(parsed->number);
}

bool KeyShape::add_about_the_file(const TreeEntry& entry) {
  const bool always = is_about_the_file(entry.key);
  const std::string key = lower_case(entry.key);
  if (!always && std::find(k_count_keys.begin(), k_count_keys.end(), key) == k_count_keys.end()) return false;
  const auto count = count_in(entry.head);
  if (count) counts_.push_back({std::string(entry.key), *count, entry.offset});
  return always || count;
}

bool KeyShape::is_about_the_file(std::string_view key) const {
  if (key == k_keys_key || key == k_length_key || key == k_count_key) return true;
  return std::any_of(counts_.begin(), counts_.end(), [&](const StatedCount& count) { return count.key == key; });
}

void KeyShape::add_to_list(const BTree& tree, const TreeEntry& entry, const NumberedKey& key) {
  const auto [found, is_new] = lists_.try_emplace(std::string(key.list));
  KeyList& list = found->second;
  if (is_new) list.has_images = names_images(key.list) || is_image(tree, entry);
  list.has_texts =
      list.has_texts && is_utf8(as_text(entry.head)) && as_text(entry.head).find('\0') == std::string_view::npos;
  if (!list.has_images) return;
  paired_numbers_.push_back(key.number);
  has_dash_ = has_dash_ || (names_images(key.list) && entry.key[key.list.size()] == '-');
  paired_digits_ = std::max(paired_digits_, key.digits);
  is_paired_padded_ = is_paired_padded_ || (key.digits > 1 && entry.key[key.list.size() + 1] == '0');
}

void KeyShape::choose_kind() {
  const auto of_images = std::find_if(lists_.begin(), lists_.end(),
                                      [](const auto& one) { return one.second.has_images && names_images(one.first); });
  const bool has_pairs = lists_.size() > 1 || !counts_.empty();
  const bool are_lists = lists_.contains(k_image_list) || (has_pairs && (has_dash_ || lists_.contains(k_text_list)));
  if (of_images != lists_.end() && are_lists) {
    kind_ = Kind::paired;
    numbers_ = std::move(paired_numbers_);
    max_digits_ = paired_digits_;
    is_padded_ = is_paired_padded_;
    // The first list of images has the plain field, "jpg"; others are "image_lr.jpg", "mask.png".
    const auto plain = lists_.find(k_image_list);
    KeyList& first = plain != lists_.end() && plain->second.has_images ? plain->second : of_images->second;
    for (auto& [name, list] : lists_) list.stem = &list == &first ? "" : lower_case(name);
  } else if (!numbers_.empty() && !has_named_images_ && (min_digits_ == max_digits_ || !is_padded_)) {
    // A number determines its key: all numbers have the same width, or none is padded.
    kind_ = Kind::numbered;
  } else {
    numbers_.clear();
  }
  // The file has unpadded keys in the order 0, 1, 10, 2. Samples are ordered by number.
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
}

std::string KeyShape::key_of(std::uint64_t number) const {
  std::string key = std::to_string(number);
  if (is_padded_ && key.size() < max_digits_) key.insert(0, max_digits_ - key.size(), '0');
  return key;
}

KeyList* KeyShape::list(std::string_view name) {
  const auto found = lists_.find(name);
  return found == lists_.end() ? nullptr : &found->second;
}

}  // namespace bale::lmdb
