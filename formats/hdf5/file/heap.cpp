#include "bale/formats/hdf5/file/input.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/hdf5/file/chunks.hpp"

namespace bale::h5 {
namespace {

// "HDF5 File Format Specification Version 3.0", III.E Global Heap. A collection is "GCOL", version (1 byte), reserved
// (3), size (8), then objects: index (2), references (2), reserved (4), size (8), data padded to 8 bytes. Object 0 is
// the free space at the end of the collection.
constexpr std::uint64_t k_collection_header_bytes = 16;
constexpr std::uint64_t k_object_header_bytes = 16;
constexpr std::uint64_t k_window_bytes = 4096;  // the library's smallest collection

class GlobalHeap {
 public:
  explicit GlobalHeap(const InputFile& file)
      : file_(file), objects_left_(file.size() / k_object_header_bytes), window_(k_window_bytes) {}

  FileRange locate(std::uint64_t address, std::uint32_t object) {
    auto [entry, is_new] = collections_.try_emplace(address);
    if (is_new) walk(address, entry->second);
    const Objects& objects = entry->second;
    const auto found = std::lower_bound(objects.begin(), objects.end(), object,
                                        [](const Object& a, std::uint32_t index) { return a.index < index; });
    if (found == objects.end() || found->index != object) fail("a reference to no object");
    return found->range;
  }

  [[noreturn]] void fail(std::string_view why) const { file_.damaged(fmt::format("variable-length data: {}", why)); }

 private:
  struct Object {
    std::uint32_t index;
    FileRange range;
  };
  using Objects = std::vector<Object>;

  void walk(std::uint64_t address, Objects& objects) {
    const std::uint64_t base = file_.user_block() + address;
    if (address > file_.size() || base + k_collection_header_bytes > file_.size()) fail("a reference past the end");
    const std::byte* header = bytes_at(base, k_collection_header_bytes);
    if (std::memcmp(header, "GCOL\1", 5) != 0) fail("a reference to no collection");
    const auto size = load_at<std::uint64_t>(header + 8);
    if (size < k_collection_header_bytes || size > file_.size() - base) fail("a collection past the end");
    const std::uint64_t end = base + size;
    for (std::uint64_t at = base + k_collection_header_bytes; at + k_object_header_bytes <= end;) {
      const std::byte* object = bytes_at(at, k_object_header_bytes);
      const auto index = load_at<std::uint16_t>(object);
      const auto bytes = load_at<std::uint64_t>(object + 8);
      if (index == 0) break;
      // Collections do not overlap, so a file cannot have more objects than there is room for headers.
      if (objects_left_-- == 0) fail("overlapping collections");
      const std::uint64_t room = end - at - k_object_header_bytes;
      if (bytes > room) fail("an object longer than its collection");
      objects.push_back({index, {at + k_object_header_bytes, bytes}});
      at += k_object_header_bytes + std::min(room, (bytes + 7) / 8 * 8);
    }
    std::sort(objects.begin(), objects.end(), [](const Object& a, const Object& b) { return a.index < b.index; });
  }

  /// `count` bytes at `offset`, through a window that is read ahead.
  const std::byte* bytes_at(std::uint64_t offset, std::size_t count) {
    if (offset < window_start_ || offset + count > window_start_ + window_filled_) {
      window_start_ = offset;
      window_filled_ = file_.bytes().read_some(offset, window_);
      if (window_filled_ < count) fail("the file ends inside a collection");
    }
    return window_.data() + (offset - window_start_);
  }

  const InputFile& file_;
  std::uint64_t objects_left_;
  std::unordered_map<std::uint64_t, Objects> collections_;
  std::vector<std::byte> window_;
  std::uint64_t window_start_ = 0;
  std::size_t window_filled_ = 0;
};

}  // namespace

std::vector<FileRange> locate_vlen(const InputFile& file, const InputDataset& dataset) {
  if (dataset.kind != ElementKind::vlen_bytes && dataset.kind != ElementKind::vlen_string) {
    file.unsupported(fmt::format("/{} does not hold variable-length bytes", printable(dataset.name)));
  }
  const std::vector<std::byte> references = read_raw_rows(file, dataset);
  GlobalHeap heap(file);
  std::vector<FileRange> ranges;
  ranges.reserve(dataset.count);
  for (std::uint64_t i = 0; i < dataset.count; ++i) {
    const std::byte* reference = references.data() + i * dataset.element_bytes;
    const auto length = load_at<std::uint32_t>(reference);
    const auto address = load_at<std::uint64_t>(reference + 4);
    const auto object = load_at<std::uint32_t>(reference + 12);
    if (length == 0 || address == 0) {
      if (length != 0) heap.fail("a reference without an address");
      ranges.push_back({0, 0});
      continue;
    }
    FileRange range = heap.locate(address, object);
    if (length > range.length) heap.fail("an element longer than its object");
    range.length = length;
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace bale::h5
