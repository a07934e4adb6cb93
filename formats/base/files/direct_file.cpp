#include "bale/formats/base/direct_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "bale/formats/base/aligned_buffer.hpp"
#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

// A huge page is one segment of the transfer.
constexpr std::size_t k_huge_bytes = std::size_t{2} << 20;

}  // namespace

std::byte* AlignedBuffer::at_least(std::size_t size) {
  if (size > size_) {
    bytes_.reset();
    size_ = (size + k_huge_bytes - 1) / k_huge_bytes * k_huge_bytes;
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(k_huge_bytes, size_)));
    if (!bytes_) {
      size_ = 0;
      throw std::bad_alloc();
    }
    ::madvise(bytes_.get(), size_, MADV_HUGEPAGE);
  }
  return bytes_.get();
}

namespace {

/// Whether the file system refuses a read of one block: some accept the flag and no read, others need larger blocks.
/// Errors of the disk are left to the reads of samples, which can name them.
bool refuses_reads(int fd) {
  alignas(DirectFile::k_block_bytes) std::array<std::byte, DirectFile::k_block_bytes> block;
  return ::pread(fd, block.data(), block.size(), 0) < 0 && (errno == EINVAL || errno == EOPNOTSUPP);
}

}  // namespace

std::optional<DirectFile> DirectFile::open(const std::string& path) {
  File file = File::open_read(path);
  const int flags = ::fcntl(file.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(file.fd(), F_SETFL, flags | O_DIRECT) != 0 || refuses_reads(file.fd())) return std::nullopt;
  return DirectFile(std::move(file));
}

std::uint64_t DirectFile::room_for(const FileRange& range) {
  const std::uint64_t lead = range.offset % k_block_bytes;
  return (lead + range.length + k_block_bytes - 1) / k_block_bytes * k_block_bytes;
}

Bytes DirectFile::read_into(const FileRange& range, std::byte* room) const {
  const std::uint64_t lead = range.offset % k_block_bytes;
  const std::uint64_t begin = range.offset - lead;
  const std::uint64_t wanted = room_for(range);
  std::uint64_t have = 0;
  while (have < lead + range.length) {
    const std::size_t count = file_.read_some(begin + have, {room + have, wanted - have});
    have += count;
    if (count == 0 || have % k_block_bytes != 0) break;  // the file's end
  }
  if (have < lead + range.length) {
    throw Error(ErrorCode::damaged, fmt::format("file ends {} bytes too early", lead + range.length - have),
                {.path = file_.path(), .offset = range.offset, .hint = "copy or pack it again"});
  }
  return {room + lead, range.length};
}

void DirectFile::read_exact(std::uint64_t offset, MutableBytes out) const {
  thread_local AlignedBuffer buffer;
  const FileRange range{.offset = offset, .length = out.size()};
  const Bytes bytes = read_into(range, buffer.at_least(room_for(range)));
  std::memcpy(out.data(), bytes.data(), bytes.size());
}

}  // namespace bale
