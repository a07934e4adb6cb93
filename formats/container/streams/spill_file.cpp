#include "bale/formats/container/streams/spill_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "bale/formats/base/codec/compression.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/formats/container/streams/stream.hpp"

namespace bale {
namespace {

class PlainStream : public Stream {
 public:
  explicit PlainStream(const std::string& path) : file_(File::open_read(path)), size_(file_.size()) {}

  std::uint64_t size() const override { return size_; }
  void read_exact(std::uint64_t offset, MutableBytes out) const override { file_.read_exact(offset, out); }
  std::optional<FileRange> locate(std::uint64_t offset, std::uint64_t length) const override {
    return FileRange{offset, length};
  }
  void will_need(const FileRange& range) const override { file_.advise_will_need(range.offset, range.length); }

 private:
  File file_;
  std::uint64_t size_;
};

}  // namespace

std::unique_ptr<Stream> open_plain_stream(const std::string& path) { return std::make_unique<PlainStream>(path); }

namespace {

class SpilledStream : public Stream {
 public:
  SpilledStream(File file, std::uint64_t size, std::uint64_t written, std::string source_path)
      : file_(std::move(file)), size_(size), written_(written), source_path_(std::move(source_path)) {}

  std::uint64_t size() const override { return size_; }
  void read_exact(std::uint64_t offset, MutableBytes out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      throw Error(ErrorCode::damaged, "the decompressed content ends too early",
                  {.path = source_path_, .offset = offset});
    }
    file_.read_exact(offset, out);
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint64_t) const override { return std::nullopt; }
  void will_need(const FileRange&) const override {}
  std::uint64_t spilled_bytes() const override { return std::max<std::uint64_t>(written_, 1); }

 private:
  File file_;
  std::uint64_t size_;
  std::uint64_t written_;
  std::string source_path_;
};

constexpr std::uint64_t k_room_check_bytes = std::uint64_t{16} << 20;

bool is_lack_of_room(const Error& error) {
  const int reason = error.context().system_error;
  return is_full_disk(reason) || reason == EMFILE || reason == ENFILE;
}

}  // namespace

std::string temporary_directory() {
  const char* set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

SpillFile::SpillFile(const std::string& source_path)
    : source_path_(source_path),
      source_bytes_(File::open_read(source_path).size()),
      directory_(temporary_directory()),
      file_(make_file()) {}

void SpillFile::fail(const Error& error) const {
  const int reason = error.context().system_error;
  throw Error(ErrorCode::io, fmt::format("cannot inflate it into {}", printable(directory_)),
              {.path = source_path_,
               .hint = is_full_disk(reason) ? "free some space there, or set TMPDIR to a directory that has more"
                       : reason == EFBIG    ? "raise `ulimit -f`, or set TMPDIR to a file system for larger files"
                                            : "set TMPDIR to a directory that can be written",
               .system_error = reason,
               .is_of_machine = true});
}

File SpillFile::make_file() const {
  try {
    try {
      return File::create_unnamed(directory_);
    } catch (const Error& error) {
      if (!is_lack_of_room(error)) throw;
      spill_cache().shrink_to(0);
      return File::create_unnamed(directory_);
    }
  } catch (const Error& error) {
    fail(error);
  }
}

void SpillFile::append(Bytes bytes) { put(size_, bytes); }

/// Evicts kept spills early, before the file system is full.
void SpillFile::make_room() {
  if (written_ < next_room_check_) return;
  const std::uint64_t limit = spill_cache_limit(directory_);
  spill_cache().shrink_to(written_ < limit ? limit - written_ : 0);
  next_room_check_ = written_ + k_room_check_bytes;
}

void SpillFile::write(std::uint64_t offset, Bytes bytes) {
  try {
    file_.write_at(offset, bytes);
  } catch (const Error& error) {
    if (!is_lack_of_room(error)) fail(error);
    spill_cache().shrink_to(0);
    try {
      file_.write_at(offset, bytes);
    } catch (const Error& again) {
      fail(again);
    }
  }
}

void SpillFile::put(std::uint64_t offset, Bytes bytes) {
  if (!InflationBudget().take(source_bytes_, written_ + bytes.size())) {
    throw Error(
        ErrorCode::damaged,
        fmt::format("its {} bytes expand to more than {}; ratios above {}:1 are rejected for outputs over {} bytes",
                    source_bytes_, written_, k_max_inflation, k_inflation_allowance),
        {.path = source_path_, .hint = "decompress it yourself if you trust it"});
  }
  make_room();
  write(offset, bytes);
  written_ += bytes.size();
  size_ = std::max(size_, offset + bytes.size());
}

void SpillFile::extend(std::uint64_t size) {
  if (size <= size_) return;
  file_.truncate(size);
  size_ = size;
}

std::unique_ptr<Stream> SpillFile::finish() && {
  return std::make_unique<SpilledStream>(std::move(file_), size_, written_, std::move(source_path_));
}

}  // namespace bale
