#include "bale/formats/beton/beton.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/beton/header.hpp"
#include "bale/formats/beton/value.hpp"
#include "bale/formats/container/reading/file_payload.hpp"

namespace bale::beton {
namespace {

/// A field that is made has the position of its value's metadata as its offset.
class BetonPayload final : public FilePayload {
 public:
  BetonPayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    if (index_.fields()[field].located) return FilePayload::read(sample, field, extent, out);
    const Made made = made_at(extent);
    const Bytes head = as_bytes(made.head);
    std::copy(head.begin(), head.end(), out.begin());
    file_.read_exact(made.range.offset, out.subspan(head.size()));
  }

  /// Of a value that is damaged nullopt: read() says what is wrong.
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t field, const Extent& extent) const override {
    if (index_.fields()[field].located) return FileRange{extent.offset, extent.length};
    try {
      return made_at(extent).range;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

 private:
  struct Made {
    std::string head;
    FileRange range;
  };

  /// The index may be of another file: everything is checked.
  Made made_at(const Extent& extent) const {
    std::call_once(once_, [&] { header_ = read_header(*open_plain_stream(file_.path()), file_.path()); });
    const auto fail = [&] {
      throw Error(ErrorCode::damaged, "the shard says something else than its index",
                  {.path = file_.path(), .offset = extent.offset});
    };
    if (extent.offset < header_.records || extent.offset >= header_.data()) fail();
    const std::uint64_t place = (extent.offset - header_.records) % header_.record_bytes;
    const auto column = std::lower_bound(header_.columns.begin(), header_.columns.end(), place,
                                         [](const Column& a, std::uint64_t wanted) { return a.place < wanted; });
    if (column == header_.columns.end() || column->place != place) fail();
    std::array<std::byte, k_max_metadata_bytes> bytes{};
    const MutableBytes metadata = MutableBytes(bytes).first(metadata_bytes(column->kind));
    file_.read_exact(extent.offset, metadata);
    const Value value = value_of(*column, metadata, extent.offset);
    auto delivery = conversion_of(*column, value);
    if (!delivery || delivery->bytes() != extent.length) fail();
    const std::uint64_t begin = column->kind == ValueKind::number || *value.bytes == 0 ? extent.offset : value.offset;
    if (begin > header_.table || *value.bytes > header_.table - begin) fail();
    return {std::move(delivery->head), {begin, *value.bytes}};
  }

  const ShardIndex& index_;
  // Read when the first value is made: who reads only JPEGs does not need it.
  mutable std::once_flag once_;
  mutable Header header_;
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  return std::make_unique<BetonPayload>(path, index);
}

}  // namespace bale::beton
