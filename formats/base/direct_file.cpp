#include "bale/formats/base/direct_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

// A multiple of every device's logical block size.
constexpr std::uint64_t k_block_bytes = 4096;
// A huge page is one segment of the transfer.
constexpr std::size_t k_huge_bytes = std::size_t{2} << 20;

class AlignedBuffer {
 public:
  std::byte* at_least(std::size_t size) {
    if (size > size_) {
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

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

std::optional<DirectFile> DirectFile::open(const std::string& path) {
  File file = File::open_read(path);
  const int flags = ::fcntl(file.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(file.fd(), F_SETFL, flags | O_DIRECT) != 0) return std::nullopt;
  return DirectFile(std::move(file));
}

void DirectFile::read_exact(std::uint64_t offset, MutableBytes out) const {
  thread_local AlignedBuffer buffer;
  const std::uint64_t begin = offset / k_block_bytes * k_block_bytes;
  const std::uint64_t lead = offset - begin;
  const std::uint64_t wanted = (lead + out.size() + k_block_bytes - 1) / k_block_bytes * k_block_bytes;
  std::byte* const bytes = buffer.at_least(wanted);
  std::uint64_t have = 0;
  while (have < lead + out.size()) {
    const std::size_t count = file_.read_some(begin + have, {bytes + have, wanted - have});
    have += count;
    if (count == 0 || have % k_block_bytes != 0) break;  // the file's end
  }
  if (have < lead + out.size()) {
    throw Error(ErrorCode::damaged, fmt::format("file ends {} bytes too early", lead + out.size() - have),
                {.path = file_.path(), .offset = offset, .hint = "copy or pack it again"});
  }
  std::memcpy(out.data(), bytes + lead, out.size());
}

}  // namespace bale
