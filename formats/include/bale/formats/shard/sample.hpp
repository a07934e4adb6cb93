// Sample: a key and named fields ("jpg", "cls", "json", ...), as in WebDataset.
//
// Lifetime: a `SampleView` that was read from a shard points into the shard and into the caller's `Scratch`. It lives
// until the Scratch is used again or either is destroyed. owned_sample.hpp has one that stays.
// Threads: a Scratch is used by one thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/aligned_buffer.hpp"
#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/direct_file.hpp"
#include "bale/formats/base/file_range.hpp"

namespace bale {

/// Bytes of one sample that were read around the page cache, in as few requests as possible. What find() returns lives
/// until the next fetch() or clear().
class DirectFetch {
 public:
  void clear() {
    wanted_.clear();
    runs_.clear();
  }
  /// Says that a range will be part of the next fetch().
  void want(const FileRange& range) { wanted_.push_back(range); }
  /// Forgets what it has, and reads the wanted ranges into memory of its own. Neighbors are one request. Tiny ranges
  /// without a neighbor, such as labels in a column of their own, are left out: a block of the page cache holds many of
  /// them. Throws what DirectFile::read_into() throws, with nothing fetched.
  void fetch(const DirectFile& file);
  static bool is_tiny(const FileRange& range) { return range.length <= k_tiny_bytes; }
  /// The bytes of a range that was fetched, else empty.
  Bytes find(const FileRange& range) const;

 private:
  static constexpr std::uint64_t k_tiny_bytes = 512;

  struct Run {
    FileRange range{};
    Bytes bytes{};
  };
  std::vector<FileRange> wanted_{};
  std::vector<Run> runs_{};
  AlignedBuffer buffer_{};
};

/// Stands for the label of a sample without one.
inline constexpr std::int64_t k_no_label = std::numeric_limits<std::int64_t>::min();

/// The field that holds a sample's class number, an ASCII decimal integer.
inline constexpr std::string_view k_label_field = "cls";

struct FieldView {
  std::string_view name;  // lower case, without a leading dot: "jpg"
  Bytes bytes;
};

struct SampleView {
  std::string_view key;  // raw bytes with directories: "n01440764/n01440764_10026"
  std::int64_t label = k_no_label;
  std::uint32_t width = 0;   // of the image in pixels; 0: unknown
  std::uint32_t height = 0;  // of the image in pixels; 0: unknown
  std::span<const FieldView> fields{};

  /// The field of this name, or nullptr if the sample does not have it.
  const FieldView* find(std::string_view name) const {
    for (const FieldView& field : fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }
  /// The bytes of this field: sample["jpg"]. Throws `not_found` if the sample does not have it.
  Bytes operator[](std::string_view name) const;
  /// The first field with an image's name (is_image_field()), else the field of pixels (k_array_field), else nullptr.
  const FieldView* find_image() const;
};

/// Reusable memory that is not initialized. Pages that are never written cost only address space.
class RawBuffer {
 public:
  /// Returns `size` bytes, which live until the next call. Their content is undefined.
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

/// The memory behind the views of one sample. A Scratch that is used for many reads allocates only if a sample is
/// larger than all before it.
class Scratch {
 public:
  Scratch() = default;
  /// Lets bytes() return the caller's `memory` if the size fits. `memory` must outlive this object.
  explicit Scratch(MutableBytes memory) : lent_(memory) {}

  /// A buffer of `size` bytes, not initialized. Invalidates every view into this Scratch. If it is not lent, it begins
  /// at a multiple of 64. Then no CPU copies slowly what begins at a multiple of 64 in its file, as whole files and
  /// members of tars do (formats/base/files/read_limit.hpp).
  MutableBytes bytes(std::size_t size) {
    constexpr std::size_t k_alignment = 64;
    if (size <= lent_.size()) return lent_.first(size);
    const MutableBytes room = buffer_.take(size + k_alignment);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(room.data()) % k_alignment;
    return room.subspan((k_alignment - beyond) % k_alignment, size);
  }
  /// A buffer for the `n`-th decompressed field of a sample, not initialized. Buffers of other `n` stay valid.
  MutableBytes inflated(std::size_t n, std::size_t size) {
    if (inflated_.size() <= n) inflated_.resize(n + 1);
    return inflated_[n].take(size);
  }
  /// Whether bytes() is the caller's memory, so that what is read must be copied there.
  bool is_lent() const { return !lent_.empty(); }
  /// What was read around the page cache for the current sample.
  DirectFetch& fetched() { return fetched_; }
  /// Memory for SampleView::fields.
  std::vector<FieldView>& fields() { return fields_; }
  /// Memory for text that a view needs and that is not stored: a key, the digits of a label.
  std::string& text() { return text_; }

 private:
  MutableBytes lent_{};
  RawBuffer buffer_;
  std::vector<RawBuffer> inflated_;
  DirectFetch fetched_{};
  std::vector<FieldView> fields_;
  std::string text_;
};

/// The label in a `cls` field: an ASCII decimal number that is whole ("8", "8.0", "8e0"), optionally after a byte order
/// mark and surrounded by white space. k_no_label if the bytes are anything else.
std::int64_t parse_label(Bytes cls);

}  // namespace bale
