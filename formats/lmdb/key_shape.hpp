// What all keys of a file from another tool have in common, which says which entries belong to one sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/lmdb/btree_walk.hpp"

namespace bale::lmdb {

/// A key that is a number or ends in one: "00000012", "12", "00000012.cls", "image-000000012", "image_hr-000000012".
struct NumberedKey {
  std::uint64_t number = 0;
  std::size_t digits = 0;
  std::string_view list{};  // what comes before the number, without its '-' or '_'; empty: nothing
  std::optional<std::string_view> extension{};
};

std::optional<NumberedKey> parse_numbered(std::string_view key);

inline constexpr std::string_view k_text_list = "label";  // CRNN: the words in an image

/// Entries whose keys differ in their number only: "label-000000001", "label-000000002".
struct KeyList {
  bool has_images = false;  // by the first value
  bool has_texts = true;    // every value that lies in a leaf is UTF-8
  std::string stem{};       // of its field; empty: the field of the first image has no stem
  std::uint64_t delivered = 0;
};

/// An entry that gives the number of samples: "num-samples".
struct StatedCount {
  std::string key;
  std::uint64_t value;
  std::uint64_t offset;  // of the value in the file
};

class KeyShape {
 public:
  enum class Kind {
    named,     // every entry is a sample
    numbered,  // entries of one number are a sample: 12, 12.cls
    paired,    // the same with lists: image-12, label-12
  };

  /// Looks at every entry, and at the first bytes of few large values.
  explicit KeyShape(const BTree& tree);

  Kind kind() const { return kind_; }
  /// The numbers of the samples, ascending; empty if the entries are named.
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }
  /// The key of the sample of a number.
  std::string key_of(std::uint64_t number) const;
  /// Of paired entries. nullptr if there is no such list.
  KeyList* list(std::string_view name);
  std::map<std::string, KeyList, std::less<>>& lists() { return lists_; }
  /// Whether an entry is about the whole file.
  bool is_about_the_file(std::string_view key) const;
  const std::vector<StatedCount>& counts() const { return counts_; }
  /// Whether the file has a list of its keys, as programs in Python that serialize objects store it.
  bool has_python_list() const { return has_python_list_; }

 private:
  void add(const BTree& tree, const TreeEntry& entry);
  bool add_about_the_file(const TreeEntry& entry);
  void add_to_list(const BTree& tree, const TreeEntry& entry, const NumberedKey& key);
  void choose_kind();

  Kind kind_ = Kind::named;
  std::vector<std::uint64_t> numbers_;         // of keys without a list
  std::vector<std::uint64_t> paired_numbers_;  // of lists of images
  std::map<std::string, KeyList, std::less<>> lists_;
  std::vector<StatedCount> counts_;
  bool has_python_list_ = false;
  bool has_named_images_ = false;  // of other keys than numbers without a list
  bool has_dash_ = false;          // between a list of images and its number
  std::size_t min_digits_ = ~std::size_t{0};
  std::size_t max_digits_ = 0;
  std::size_t paired_digits_ = 0;
  bool is_padded_ = false;  // some number has leading zeros
  bool is_paired_padded_ = false;
};

/// Field name by the first bytes of an image; empty if they are not those of an image.
std::string_view image_field_of(Bytes head);

}  // namespace bale::lmdb
