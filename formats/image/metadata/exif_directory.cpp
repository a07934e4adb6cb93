// EXIF 2.3, 4.6.4: tag 0x0112 of the first TIFF directory is the orientation.
#include "bale/formats/image/metadata/orientation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "bale/formats/image/metadata/tiff_directory.hpp"

namespace bale::image_detail {
namespace {

constexpr std::uint32_t k_orientation = 0x0112;
constexpr std::size_t k_entry_bytes = TiffDirectory::k_entry_bytes;
constexpr std::size_t k_inline_bytes = 4;
constexpr std::string_view k_prefix{"Exif\0\0", 6};

// Types of values: TIFF 6.0, section 2, and TIFF technical note 1 (13).
enum Type : std::uint32_t {
  k_byte = 1,
  k_ascii = 2,
  k_short = 3,
  k_long = 4,
  k_rational = 5,
  k_signed_byte = 6,
  k_undefined = 7,
  k_signed_short = 8,
  k_signed_long = 9,
  k_signed_rational = 10,
  k_float = 11,
  k_double = 12,
  k_directory = 13,
  k_long8 = 16,
};

/// Size of one value in bytes; 0 for unknown types, whose entries are skipped.
std::size_t bytes_of(std::uint32_t type) {
  if (type == k_long8) return 8;
  static constexpr std::array<std::size_t, 14> k_bytes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};
  return type < k_bytes.size() ? k_bytes[type] : 0;
}

Bytes without_prefix(Bytes exif) {
  for (int i = 0; i < 2 && as_text(exif).substr(0, k_prefix.size()) == k_prefix; ++i) {
    exif = exif.subspan(k_prefix.size());
  }
  return exif;
}

/// Pillow also reads heads with swapped halves, and takes the byte order from the first two letters.
bool has_head(const ByteReader& in) {
  static constexpr std::array<std::string_view, 5> k_heads{
      {{"MM\0*", 4}, {"MM*\0", 4}, {"MM\0+", 4}, {"II*\0", 4}, {"II\0*", 4}}};
  const auto is_head = [&](std::string_view head) { return in.matches(0, head); };
  return std::any_of(k_heads.begin(), k_heads.end(), is_head) && in.has(4, 4);
}

/// The directory of EXIF data. The data begin with the TIFF structure, or with "Exif" once or twice before it.
class ExifDirectory : public TiffDirectory {
 public:
  explicit ExifDirectory(Bytes exif) : ExifDirectory(exif, without_prefix(exif)) {}

  /// Whether there are bytes that do not begin as TIFF does.
  bool is_unreadable() const { return size_ > 0 && in().size() == 0; }
  std::size_t skipped() const { return skipped_; }
  bool is_orientation(std::size_t i) const { return tag(i) == k_orientation; }

 private:
  ExifDirectory(Bytes exif, Bytes tiff)
      : TiffDirectory(ByteReader(has_head(ByteReader(tiff)) ? tiff : Bytes{}), ByteReader(tiff).matches(0, "MM")),
        size_(tiff.size()),
        skipped_(exif.size() - tiff.size()) {}

  std::size_t size_;
  std::size_t skipped_;
};

template <typename To, typename From>
double bits_as(From bits) {
  static_assert(sizeof(To) == sizeof(From));
  To value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

/// The first value of a type; 0 for types that Pillow does not read as numbers.
double number_at(const TiffDirectory& tiff, std::uint32_t type, std::size_t at) {
  switch (type) {
    case k_short:
      return tiff.u16(at);
    case k_long:
    case k_directory:
      return tiff.u32(at);
    case k_rational:
      return static_cast<double>(tiff.u32(at)) / static_cast<double>(tiff.u32(at + 4));
    case k_signed_byte:
      return static_cast<std::int8_t>(tiff.in().u8(at));
    case k_signed_short:
      return static_cast<std::int16_t>(tiff.u16(at));
    case k_signed_long:
      return static_cast<std::int32_t>(tiff.u32(at));
    case k_signed_rational:
      return static_cast<double>(static_cast<std::int32_t>(tiff.u32(at))) /
             static_cast<double>(static_cast<std::int32_t>(tiff.u32(at + 4)));
    case k_float:
      return bits_as<float>(tiff.u32(at));
    case k_long8:
      return static_cast<double>(tiff.u64(at));
    case k_double:
      return bits_as<double>(tiff.u64(at));
    default:
      return 0;
  }
}

}  // namespace

std::optional<int> read_exif_orientation(Bytes exif) {
  const ExifDirectory tiff(exif);
  if (tiff.is_unreadable()) return 1;
  std::uint64_t outside_bytes = 0;  // of values outside their entries
  for (std::size_t i = 0; i < tiff.entries(); ++i) {
    const std::size_t entry = tiff.entry(i);
    const std::uint32_t type = tiff.type(i);
    const std::uint64_t size = std::uint64_t{tiff.u32(entry + 4)} * bytes_of(type);
    if (size == 0) continue;
    std::size_t value_at = entry + 8;
    if (size > k_inline_bytes) {
      // Pillow skips values that together exceed the structure, and stops at one that ends after it.
      outside_bytes += size;
      if (outside_bytes > tiff.in().size()) continue;
      value_at = tiff.u32(value_at);
      if (!tiff.in().has(value_at, static_cast<std::size_t>(size))) return std::nullopt;
    }
    if (!tiff.is_orientation(i)) continue;
    const double value = number_at(tiff, type, value_at);
    for (int orientation = 2; orientation <= 8; ++orientation) {
      if (value == orientation) return orientation;
    }
    return 1;
  }
  return std::nullopt;
}

void drop_exif_orientation(MutableBytes exif) {
  const ExifDirectory tiff(exif);
  std::size_t kept = 0;
  const auto at = [&](std::size_t offset) {
    return exif.begin() + static_cast<std::ptrdiff_t>(offset + tiff.skipped());
  };
  const auto put16 = [&](std::size_t offset, std::size_t value) {
    at(offset)[tiff.big_endian() ? 1 : 0] = static_cast<std::byte>(value & 0xFF);
    at(offset)[tiff.big_endian() ? 0 : 1] = static_cast<std::byte>(value >> 8 & 0xFF);
  };
  if (!tiff.whole()) {
    for (std::size_t i = 0; i < tiff.entries(); ++i) {
      if (!tiff.is_orientation(i)) continue;
      const std::size_t entry = tiff.entry(i);
      std::fill(at(entry + 2), at(entry + k_entry_bytes), std::byte{0});
      put16(entry + 2, k_short);
      put16(entry + (tiff.big_endian() ? 6 : 4), 1);
      put16(entry + 8, 1);
    }
    return;
  }
  const std::size_t entries = tiff.entries();
  for (std::size_t i = 0; i < entries; ++i) {
    if (tiff.is_orientation(i)) continue;
    if (kept != i) std::copy(at(tiff.entry(i)), at(tiff.entry(i + 1)), at(tiff.entry(kept)));
    ++kept;
  }
  if (kept == entries) return;
  // The offset of the next directory moves to after the last remaining entry.
  std::copy(at(tiff.entry(entries)), at(tiff.entry(entries) + 4), at(tiff.entry(kept)));
  std::fill(at(tiff.entry(kept) + 4), at(tiff.entry(entries) + 4), std::byte{0});
  put16(tiff.count_at(), kept);
}

}  // namespace bale::image_detail
