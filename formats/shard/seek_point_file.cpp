#include "bale/formats/shard/seek_point_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/codec/checked_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

constexpr char k_magic[8] = {'B', 'A', 'L', 'E', 'E', 'N', 'T', '\0'};
constexpr std::uint32_t k_version = 1;
constexpr std::uint64_t k_piece_bytes = std::uint64_t{1} << 20;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t num_samples;
  std::uint64_t shard_bytes;
  std::uint64_t record_bytes;
  std::uint64_t file_bytes;
  std::uint32_t ends_crc32c;
  std::uint32_t records_crc32c;
  std::uint32_t reserved_too;
  std::uint32_t header_crc32c;  // of all bytes before it
};
static_assert(sizeof(Header) == 64);

[[noreturn]] void fail_damaged_seek_points(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, fmt::format("damaged seek points: {}", why),
              {.path = path, .hint = "delete them, or make them again with `bale index --seek-points`"});
}

}  // namespace

std::string seek_point_path(const std::string& shard_path) { return with_suffix(shard_path, ".bseek"); }

std::string old_seek_point_path(const std::string& shard_path) { return with_suffix(shard_path, ".bentry"); }

std::string find_seek_points(const std::string& shard_path) {
  const std::string path = seek_point_path(shard_path);
  const std::string old_path = old_seek_point_path(shard_path);
  const bool is_old = !path_exists(path) && path_exists(old_path);
  return is_old ? old_path : path;
}

SeekPointFile SeekPointFile::load(const std::string& path) {
  const auto load_once = [&] {
    const auto file = std::make_shared<const File>(open_whole(path));
    file->advise_will_need(0, file->size());
    return parse([file](std::uint64_t offset, MutableBytes out) { file->read_exact(offset, out); }, file->size(), path);
  };
  SeekPointFile file = read_twice_if_damaged(path, load_once);
  const Storage* const storage = remote_storage_of(path);
  if (storage == nullptr || file.records_are_whole()) return file;
  storage->cache().forget(path);  // perhaps they were damaged on their way
  return load_once();
}

SeekPointFile SeekPointFile::from_bytes(std::vector<std::byte> bytes, const std::string& path) {
  const std::uint64_t size = bytes.size();
  return parse(
      [content = std::make_shared<const std::vector<std::byte>>(std::move(bytes))](std::uint64_t offset,
                                                                                   MutableBytes out) {
        std::copy_n(content->begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
      },
      size, path);
}

SeekPointFile SeekPointFile::parse(Read read, std::uint64_t file_bytes, const std::string& path) {
  std::vector<std::byte> head(std::min<std::uint64_t>(file_bytes, sizeof(Header)));
  read(0, head);
  const auto header = load_checked_header<Header>(head, k_magic, k_version, "seek points of", path,
                                                  [&](std::string_view why) { fail_damaged_seek_points(path, why); });
  const std::uint64_t body_bytes = file_bytes - sizeof(Header);
  const std::uint64_t ends_bytes = header.num_samples * sizeof(std::uint64_t);
  if (header.file_bytes != file_bytes || header.num_samples > body_bytes / sizeof(std::uint64_t) ||
      header.record_bytes != body_bytes - ends_bytes) {
    fail_damaged_seek_points(path, "its size contradicts its header");
  }
  SeekPointFile file;
  file.num_samples_ = header.num_samples;
  file.shard_bytes_ = header.shard_bytes;
  file.record_bytes_ = header.record_bytes;
  file.records_crc32c_ = header.records_crc32c;
  file.ends_.resize(header.num_samples);
  read(sizeof(Header), std::as_writable_bytes(std::span(file.ends_)));
  if (crc32c(std::as_bytes(std::span(file.ends_))) != header.ends_crc32c) {
    fail_damaged_seek_points(path, "checksum of the table does not match");
  }
  std::uint64_t previous = 0;
  for (const std::uint64_t end : file.ends_) {
    if (end < previous || end > file.record_bytes_) fail_damaged_seek_points(path, "table out of order");
    previous = end;
  }
  file.read_ = std::move(read);
  return file;
}

std::vector<std::byte> SeekPointFile::record(std::uint64_t i) const {
  const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  std::vector<std::byte> record(ends_[i] - begin);
  if (record.empty()) return record;
  try {
    read_(sizeof(Header) + num_samples_ * sizeof(std::uint64_t) + begin, record);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged) throw;
    record.clear();
  }
  return record;
}

bool SeekPointFile::records_are_whole() const {
  std::vector<std::byte> piece(std::min(record_bytes_, k_piece_bytes));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < record_bytes_; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), record_bytes_ - done));
    read_(sizeof(Header) + num_samples_ * sizeof(std::uint64_t) + done, piece);
    crc = crc32c(piece, crc);
  }
  return crc == records_crc32c_;
}

void SeekPointFileBuilder::add(Bytes record) {
  records_.insert(records_.end(), record.begin(), record.end());
  ends_.push_back(records_.size());
}

std::vector<std::byte> SeekPointFileBuilder::build(std::uint64_t shard_bytes) const {
  const Bytes ends = std::as_bytes(std::span(ends_));
  Header header{};
  std::memcpy(header.magic, k_magic, sizeof k_magic);
  header.version = k_version;
  header.num_samples = ends_.size();
  header.shard_bytes = shard_bytes;
  header.record_bytes = records_.size();
  header.file_bytes = sizeof header + ends.size() + records_.size();
  header.ends_crc32c = crc32c(ends);
  header.records_crc32c = crc32c(records_);
  seal_header(header);
  const Bytes head = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> out;
  out.reserve(header.file_bytes);
  for (const Bytes part : {head, ends, Bytes(records_)}) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace bale
