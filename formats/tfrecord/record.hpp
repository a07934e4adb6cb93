// Records of a file: the frame around each, and its two checksums (FORMAT.md, "File").
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/container/streams/file_window.hpp"
#include "bale/formats/shard/field_rule.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/index_builder.hpp"

namespace bale::tfrecord {

inline constexpr std::size_t k_header_bytes = 12;
inline constexpr std::size_t k_footer_bytes = 4;

struct Record {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;  // of its header in the file
  std::uint64_t length = 0;  // of its data

  std::uint64_t data() const { return offset + k_header_bytes; }
  std::uint64_t end() const { return data() + length + k_footer_bytes; }
};

/// A CRC32C as stored: rotated and offset, because it is problematic to compute the CRC of data that contains CRCs.
constexpr std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

/// The header in front of `length` bytes of data.
std::array<std::byte, k_header_bytes> make_header(std::uint64_t length);

/// Whether the bytes begin with a header whose checksum matches.
bool has_good_header(Bytes bytes);

/// Walks the records of a file by their headers.
class RecordWalk {
 public:
  explicit RecordWalk(FileWindow& window) : window_(window) {}

  /// Moves to the next record; false at the end of the file. Throws `damaged` if the header's checksum does not match
  /// or the record is truncated. It does not search for further records then.
  bool next(Record& record);

 private:
  FileWindow& window_;
  std::uint64_t at_ = 0;
  std::uint64_t number_ = 0;
};

/// Throws `damaged` with the number of the record and the offset of its header.
[[noreturn]] void fail_record(const std::string& path, const Record& record, std::string_view what);

/// Reads the record's data and compares its checksum. `buffer` is reused.
void check_data(const File& file, const Record& record, std::vector<std::byte>& buffer);

// What the format (format.cpp) is made of: finding and writing the samples of a file.

/// Finds the samples of a file, ours or another tool's (FORMAT.md, "Example", "Foreign files").
/// Reads headers and names but no images. Throws `damaged`, with record and offset, or `unsupported`.
void scan(const std::string& path, IndexBuilder& index);

std::unique_ptr<ShardWriter> create(const WriterOptions& options);

// The features with a fixed meaning (FORMAT.md, "Example"): slim's names, and ours.

inline constexpr std::string_view k_key = "__key__";  // only in our examples
inline constexpr std::string_view k_encoded = "image/encoded";
inline constexpr std::string_view k_format = "image/format";
inline constexpr std::string_view k_filename = "image/filename";
inline constexpr std::string_view k_height = "image/height";
inline constexpr std::string_view k_width = "image/width";
inline constexpr std::string_view k_label = "image/class/label";
inline constexpr std::string_view k_label_text = "image/class/text";

/// Longest name of a feature that a scan reads.
inline constexpr std::size_t k_max_name_bytes = 4000;

/// Stored names are names of features. Those with '/' are slim's. protobuf refuses other bytes than UTF-8.
inline constexpr std::string_view k_reserved_names[] = {k_key};
inline constexpr FieldRule k_field_rule{
    .max_bytes = k_max_name_bytes, .forbidden = "/", .reserved = k_reserved_names, .is_utf8 = true};

/// Value of `image/format` for an image field: "JPEG", "PNG", ...; field_name() is the inverse.
std::string image_format(std::string_view field);

/// Name of the field for another tool's feature: lower case, '_' instead of '/'.
std::string field_of_feature(std::string_view feature);

}  // namespace bale::tfrecord
