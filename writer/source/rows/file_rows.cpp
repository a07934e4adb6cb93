#include "bale/writer/source/rows/file_rows.hpp"

#include <algorithm>
#include <limits>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/rows/file_source.hpp"

namespace bale {
namespace {

constexpr std::size_t k_examine_chunk = 512;

void examine(const FileRows& rows, FileRow& row, std::string& path) {
  rows.path(row, path);
  struct stat info {};
  if (stat_long_path(path, info) != 0 || !S_ISREG(info.st_mode)) return;  // reading the file will report why
  row.bytes = static_cast<std::uint64_t>(info.st_size);
  row.mtime_ns = mtime_ns(info);
}

void examine_all(const FileRows& rows, std::deque<FileRow>& list, unsigned jobs) {
  run_parallel((list.size() + k_examine_chunk - 1) / k_examine_chunk, jobs, [&](std::size_t chunk) {
    std::string path;
    const std::size_t first = chunk * k_examine_chunk;
    const std::size_t last = std::min(first + k_examine_chunk, list.size());
    for (std::size_t i = first; i < last; ++i) examine(rows, list[i], path);
  });
}

}  // namespace

std::uint64_t TextArena::add(std::string_view text) {
  if (text.empty()) return 0;
  if (k_block_bytes - used_ < text.size()) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(k_block_bytes));
    used_ = 0;
  }
  std::copy(text.begin(), text.end(), blocks_.back().get() + used_);
  const std::uint64_t position = (blocks_.size() - 1) * k_block_bytes + used_;
  used_ += text.size();
  return position;
}

std::uint32_t FileRows::add_directory(std::string_view path, std::size_t key_start) {
  if (path.size() > k_max_path_bytes) {
    throw Error(ErrorCode::unsupported, "the path is too long", {.path = std::string(path.substr(0, 200)) + "..."});
  }
  directories_.push_back({arena_.add(path), static_cast<std::uint32_t>(path.size()),
                          static_cast<std::uint32_t>(std::min(key_start, path.size()))});
  return static_cast<std::uint32_t>(directories_.size() - 1);
}

std::string_view FileRows::directory(std::uint32_t id) const {
  return arena_.get(directories_[id].text, directories_[id].bytes);
}

std::string_view FileRows::key_directory(std::uint32_t id) const {
  return directory(id).substr(directories_[id].key_start);
}

FileRow FileRows::make_row(std::uint32_t directory, std::string_view name) {
  if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
    throw Error(ErrorCode::unsupported, "the file's name is too long",
                {.path = std::string(name.substr(0, 200)) + "..."});
  }
  FileRow row;
  row.name = arena_.add(name);
  row.directory = directory;
  row.name_bytes = static_cast<std::uint16_t>(name.size());
  return row;
}

FileRow& FileRows::add_sample(std::uint32_t directory, std::string_view name) {
  samples_.push_back(make_row(directory, name));
  return samples_.back();
}

void FileRows::add_companion(std::uint32_t directory, std::string_view name) {
  companion_of_.push_back(static_cast<std::uint32_t>(companions_.size()));
  companions_.push_back(make_row(directory, name));
}

const FileRow* FileRows::companion(std::uint64_t i, std::size_t which, std::size_t count) const {
  const std::uint32_t row = companion_of_[i * count + which];
  return row == k_no_companion ? nullptr : &companions_[row];
}

void FileRows::path(const FileRow& row, std::string& out) const {
  out.assign(directory(row.directory));
  if (!out.empty() && out.back() != '/') out += '/';
  out += name(row);
}

std::string FileRows::path(const FileRow& row) const {
  std::string out;
  path(row, out);
  return out;
}

std::string FileRows::path_below_root(const FileRow& row) const {
  return below(key_directory(row.directory), name(row));
}

void FileRows::append_key(const FileRow& row, std::string& out) const {
  std::string stem(key_directory(row.directory));
  if (!stem.empty()) stem += '/';
  stem += keeps_extensions_ ? name(row) : split_file_name(name(row)).stem;
  out += encode_key(stem);
}

StemAndExtension split_file_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {name, {}};
  return {dot == 0 ? name : name.substr(0, dot), name.substr(dot + 1)};
}

std::string below(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

// In a cold directory every stat waits for one inode, so several threads share the waiting.
unsigned list_jobs(const SourceOptions& options) {
  constexpr unsigned k_default = 8;
  return options.list_jobs != 0 ? options.list_jobs : k_default;
}

void FileSource::examine_files() {
  examine_all(listing_.rows, listing_.rows.samples(), listing_.jobs);
  examine_all(listing_.rows, listing_.rows.companions(), listing_.jobs);
}

}  // namespace bale
