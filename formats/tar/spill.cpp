#include "bale/formats/tar/spill.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"

namespace bale::tar {
namespace {

class SpilledStream : public Stream {
 public:
  SpilledStream(File file, std::uint64_t size, std::string source_path)
      : file_(std::move(file)), size_(size), source_path_(std::move(source_path)) {}

  std::uint64_t size() const override { return size_; }
  void read_exact(std::uint64_t offset, MutableBytes out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      throw Error(ErrorCode::damaged, "the tar stream ends too early", {.path = source_path_, .offset = offset});
    }
    file_.read_exact(offset, out);
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint64_t) const override { return std::nullopt; }
  void will_need(const FileRange&) const override {}

 private:
  File file_;
  std::uint64_t size_;
  std::string source_path_;
};

std::string temporary_directory() {
  const char* set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

}  // namespace

Spill::Spill(const std::string& source_path)
    : source_path_(source_path), directory_(temporary_directory()), file_(File::create_unnamed(directory_)) {}

void Spill::append(Bytes bytes) { put(size_, bytes); }

void Spill::put(std::uint64_t offset, Bytes bytes) {
  try {
    file_.write_at(offset, bytes);
  } catch (const Error& error) {
    const int reason = error.context().system_error;
    throw Error(ErrorCode::io, fmt::format("cannot inflate it into {}", printable(directory_)),
                {.path = source_path_,
                 .hint = "free some space there, or set TMPDIR to a directory that has more",
                 .system_error = reason});
  }
  size_ = std::max(size_, offset + bytes.size());
}

void Spill::extend(std::uint64_t size) {
  if (size <= size_) return;
  file_.truncate(size);
  size_ = size;
}

std::unique_ptr<Stream> Spill::finish() && {
  return std::make_unique<SpilledStream>(std::move(file_), size_, std::move(source_path_));
}

}  // namespace bale::tar
