#include "bale/formats/lmdb/lmdb.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace bale::lmdb {
namespace {

// caffe.proto, message Datum. Wire types: protobuf's encoding guide.
enum DatumField : std::uint64_t { k_channels = 1, k_height, k_width, k_data, k_label, k_float_data, k_encoded };
enum WireType : std::uint64_t { k_varint = 0, k_bytes = 2, k_fixed32 = 5 };

// A Datum has seven fields. The limit bounds the reads for a value that is not a Datum.
constexpr int k_max_fields = 64;

class WireReader {
 public:
  WireReader(const File& file, const FileRange& range)
      : file_(file), at_(range.offset), end_(range.offset + range.length) {}

  bool at_end() const { return at_ == end_; }
  std::uint64_t position() const { return at_; }

  bool varint(std::uint64_t& value) {
    std::array<std::byte, 10> buffer{};
    const MutableBytes bytes = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), end_ - at_));
    if (bytes.empty()) return false;
    file_.read_exact(at_, bytes);
    value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
      value |= (byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        at_ += i + 1;
        return true;
      }
    }
    return false;
  }
  bool skip(std::uint64_t bytes) {
    if (bytes > end_ - at_) return false;
    at_ += bytes;
    return true;
  }

 private:
  const File& file_;
  std::uint64_t at_;
  std::uint64_t end_;
};

std::uint32_t dimension(std::uint64_t value) {
  return value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

}  // namespace

std::optional<Datum> parse_datum(const File& file, const FileRange& value) {
  Datum datum;
  bool has_data = false;
  WireReader wire(file, value);
  for (int fields = 0; !wire.at_end(); ++fields) {
    std::uint64_t tag = 0;
    std::uint64_t number = 0;
    if (fields == k_max_fields || !wire.varint(tag)) return std::nullopt;
    const std::uint64_t field = tag >> 3;
    if (field < k_channels || field > k_encoded) return std::nullopt;
    switch (tag & 7) {
      case k_varint:
        if (!wire.varint(number)) return std::nullopt;
        if (field == k_channels) datum.channels = dimension(number);
        if (field == k_height) datum.height = dimension(number);
        if (field == k_width) datum.width = dimension(number);
        // int32: negative values are sign-extended to 64 bits on the wire.
        if (field == k_label) datum.label = static_cast<std::int32_t>(number);
        if (field == k_encoded) datum.encoded = number != 0;
        if (field == k_data || field == k_float_data) return std::nullopt;
        break;
      case k_bytes:
        if ((field != k_data && field != k_float_data) || !wire.varint(number)) return std::nullopt;
        if (field == k_data) {
          datum.data = {wire.position(), number};
          has_data = true;
        }
        if (!wire.skip(number)) return std::nullopt;
        break;
      case k_fixed32:
        if (field != k_float_data || !wire.skip(4)) return std::nullopt;
        break;
      default:
        return std::nullopt;
    }
  }
  if (!has_data) return std::nullopt;
  return datum;
}

}  // namespace bale::lmdb
