// Reads size and time of all files of a FileSource before any file is read.
#include <algorithm>

#include "bale/formats/base/system/parallel.hpp"
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
