// What a FileSource does once, before anything is read: sizes and times of all files, and unique keys.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <unordered_map>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/writer/source/file_source.hpp"
#include "bale/writer/source/long_path.hpp"

namespace bale {
namespace {

// Cold directories answer one inode at a time, so waiting is shared by more threads than there are cores.
constexpr unsigned k_examine_threads = 8;
constexpr std::size_t k_examine_chunk = 512;

void examine(const FileRows& rows, FileRow& row, std::string& path) {
  rows.path(row, path);
  struct stat info {};
  if (stat_long_path(path, info) != 0 || !S_ISREG(info.st_mode)) return;  // reading it will tell why
  row.bytes = static_cast<std::uint64_t>(info.st_size);
  row.mtime_ns = mtime_ns(info);
}

void examine_all(const FileRows& rows, std::deque<FileRow>& list) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    std::string path;
    for (;;) {
      const std::size_t first = next.fetch_add(k_examine_chunk);
      if (first >= list.size()) return;
      const std::size_t last = std::min(first + k_examine_chunk, list.size());
      for (std::size_t i = first; i < last; ++i) examine(rows, list[i], path);
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t chunks = list.size() / k_examine_chunk;
  for (std::size_t i = 1; i < std::min<std::size_t>(k_examine_threads, chunks); ++i) threads.emplace_back(work);
  work();
}

}  // namespace

void FileSource::examine_files() {
  examine_all(listing_.rows, listing_.rows.samples());
  examine_all(listing_.rows, listing_.rows.companions());
}

void FileSource::refuse_duplicate_keys() const {
  const FileRows& rows = listing_.rows;
  std::string key;
  const auto hash_of = [&](const FileRow& row) {
    key.clear();
    rows.append_key(row, key);
    return std::hash<std::string_view>{}(key);
  };
  std::vector<std::size_t> hashes;
  hashes.reserve(rows.samples().size());
  for (const FileRow& row : rows.samples()) hashes.push_back(hash_of(row));
  std::sort(hashes.begin(), hashes.end());
  std::unordered_map<std::size_t, std::vector<const FileRow*>> suspects;
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - 1]) suspects[hashes[i]];
  }
  if (suspects.empty()) return;
  hashes = {};
  for (const FileRow& row : rows.samples()) {
    const auto found = suspects.find(hash_of(row));
    if (found == suspects.end()) continue;
    for (const FileRow* other : found->second) {
      std::string other_key;
      rows.append_key(*other, other_key);
      if (other_key != key) continue;
      const std::string first = rows.path(*other);
      const std::string second = rows.path(row);
      if (first == second) {
        throw Error(ErrorCode::invalid_argument, "the file is listed twice", {.path = second, .hint = "list it once"});
      }
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("would share its key with {}", printable(first)),
                  {.path = second, .key = key, .hint = "rename one, leave one out with --exclude, or join them with --pair"});
    }
    found->second.push_back(&row);
  }
}

}  // namespace bale
