#include "bale/formats/tfrecord/record.hpp"

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"

namespace bale::tfrecord {
namespace {

constexpr std::size_t k_length_bytes = 8;
/// Data is read for its checksum in pieces of this size: a record may be as large as the file.
constexpr std::size_t k_piece_bytes = std::size_t{1} << 20;

}  // namespace

std::array<std::byte, k_header_bytes> make_header(std::uint64_t length) {
  std::array<std::byte, k_header_bytes> header;
  std::memcpy(header.data(), &length, k_length_bytes);
  const std::uint32_t crc = masked(crc32c(Bytes(header).first(k_length_bytes)));
  std::memcpy(header.data() + k_length_bytes, &crc, sizeof crc);
  return header;
}

bool has_good_header(Bytes bytes) {
  if (bytes.size() < k_header_bytes) return false;
  return load_at<std::uint32_t>(bytes.data() + k_length_bytes) == masked(crc32c(bytes.first(k_length_bytes)));
}

void fail_record(const std::string& path, const Record& record, std::string_view what) {
  throw Error(ErrorCode::damaged, fmt::format("record {}: {}", record.number, what),
              {.path = path, .offset = record.offset, .hint = "copy or pack it again"});
}

bool RecordWalk::next(Record& record) {
  const std::uint64_t left = window_.file_bytes() - at_;
  if (left == 0) return false;
  record = {.number = number_, .offset = at_};
  const Bytes header = window_.from(at_, k_header_bytes);
  if (left < k_header_bytes || header.size() < k_header_bytes) {
    fail_record(window_.file().path(), record, "the file ends inside its header");
  }
  if (!has_good_header(header)) fail_record(window_.file().path(), record, "checksum of its length does not match");
  record.length = load_at<std::uint64_t>(header.data());
  const std::uint64_t frame = k_header_bytes + k_footer_bytes;
  if (left < frame || record.length > left - frame) {
    fail_record(window_.file().path(), record, fmt::format("the file ends before its {} bytes", record.length));
  }
  at_ = record.end();
  ++number_;
  return true;
}

void check_data(const File& file, const Record& record, std::vector<std::byte>& buffer) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < record.length;) {
    buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(k_piece_bytes, record.length - done)));
    file.read_exact(record.data() + done, buffer);
    crc = crc32c(buffer, crc);
    done += buffer.size();
  }
  std::array<std::byte, k_footer_bytes> stored;
  file.read_exact(record.data() + record.length, stored);
  if (load_at<std::uint32_t>(stored.data()) != masked(crc)) {
    fail_record(file.path(), record, "checksum of its data does not match");
  }
}

}  // namespace bale::tfrecord
