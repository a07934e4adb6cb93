// Sample: a key and named fields, WebDataset's model (`jpg`, `cls`, `json`, ...).
//
// Views borrow: a `SampleView` read from a shard points into the caller's `Scratch` and lives until that
// Scratch is used again or destroyed. A Scratch belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/core/bytes.hpp"

namespace bale {

/// Label of a sample that has none.
inline constexpr std::int64_t k_no_label = std::numeric_limits<std::int64_t>::min();

/// The field that holds a sample's class, an ASCII decimal integer.
inline constexpr std::string_view k_label_field = "cls";

struct FieldView {
  std::string_view name;  // lower case, without a leading dot: "jpg"
  Bytes bytes;
};

struct SampleView {
  std::string_view key;  // raw bytes, directories kept: "n01440764/n01440764_10026"
  std::int64_t label = k_no_label;
  std::uint32_t width = 0;   // pixels of the image field; 0 where unknown
  std::uint32_t height = 0;  // pixels of the image field; 0 where unknown
  std::span<const FieldView> fields{};

  /// The field's bytes, or nullptr where the sample has no such field.
  const FieldView* find(std::string_view name) const {
    for (const FieldView& field : fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }
  /// The first field with an image's name, else the decoded one (k_array_field); nullptr where the sample has neither.
  const FieldView* find_image() const;
};

/// Reusable memory that is not initialized: what is reserved but never written costs address space alone.
class RawBuffer {
 public:
  /// Keeps no contents.
  MutableBytes take(std::size_t size) {
    if (size > capacity_) {
      capacity_ = 0;
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<std::byte[]>(size + size / 4);
      capacity_ = size + size / 4;
    }
    return {memory_.get(), size};
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
};

/// Reusable memory behind the views of one sample. Reusing one Scratch for many reads allocates only
/// when a sample is larger than any before it. Not for use by two threads at once.
class Scratch {
 public:
  Scratch() = default;
  /// bytes() gives `memory`, which is the caller's, for all that fits in it.
  explicit Scratch(MutableBytes memory) : lent_(memory) {}

  /// A buffer of `size` bytes, uninitialised; invalidates every view into this Scratch.
  MutableBytes bytes(std::size_t size) { return size <= lent_.size() ? lent_.first(size) : buffer_.take(size); }
  /// Of the same kind, for the `n`-th field of a sample that is decompressed; the others stay as they are.
  MutableBytes inflated(std::size_t n, std::size_t size) {
    if (inflated_.size() <= n) inflated_.resize(n + 1);
    return inflated_[n].take(size);
  }
  std::vector<FieldView>& fields() { return fields_; }
  /// Text made for a view: a key that is stored nowhere, a label's digits.
  std::string& text() { return text_; }

 private:
  MutableBytes lent_{};
  RawBuffer buffer_;
  std::vector<RawBuffer> inflated_;
  std::vector<FieldView> fields_;
  std::string text_;
};

/// The label in a `cls` field: an ASCII decimal integer with optional surrounding white space;
/// `k_no_label` where the bytes are anything else.
std::int64_t parse_label(Bytes cls);

}  // namespace bale
