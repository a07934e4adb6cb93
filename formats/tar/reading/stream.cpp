#include "bale/formats/tar/reading/stream.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/streams/spill_file.hpp"
#include "bale/formats/tar/header/header.hpp"
#include "bale/formats/tar/reading/libarchive_stream.hpp"

namespace bale::tar {

// gzip archives are decompressed once, from start to end, into a SpillFile (FORMAT.md, section 6).

namespace {

constexpr std::size_t k_gzip_buffer_bytes = std::size_t{256} << 10;

class Inflater {
 public:
  explicit Inflater(const std::string& path) : path_(path), file_(File::open_read(path)), input_(k_gzip_buffer_bytes) {
    if (inflateInit2(&state_, k_gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&state_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void inflate_into(SpillFile& spill) {
    std::vector<std::byte> output(k_gzip_buffer_bytes);
    while (have_input()) {
      state_.next_out = reinterpret_cast<Bytef*>(output.data());
      state_.avail_out = static_cast<uInt>(output.size());
      const int result = inflate(&state_, Z_NO_FLUSH);
      spill.append(Bytes(output).first(output.size() - state_.avail_out));
      if (result == Z_STREAM_END) {
        if (!next_member()) return;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        fail(fmt::format("damaged gzip data: {}", state_.msg != nullptr ? state_.msg : "checksum does not match"));
      }
    }
    fail("the gzip data ends too early");
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::damaged, what,
                {.path = path_, .offset = read_ - state_.avail_in, .hint = "copy or pack it again"});
  }

  /// Whether there is input left. Reads more if all was used.
  bool have_input() {
    if (state_.avail_in != 0) return true;
    const std::size_t got = file_.read_some(read_, input_);
    read_ += got;
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    state_.avail_in = static_cast<uInt>(got);
    return got != 0;
  }

  /// Prepares for the next gzip member; false at the end of the file. Zeros after the last member are padding, as gzip
  /// itself treats them.
  bool next_member() {
    while (have_input() && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
    if (state_.avail_in == 0) return false;
    if (*state_.next_in != 0x1F) fail("bytes after the end of the gzip data");
    return inflateReset(&state_) == Z_OK;
  }

  const std::string& path_;
  File file_;
  std::vector<std::byte> input_;
  std::uint64_t read_ = 0;  // bytes of the file given to zlib so far
  z_stream state_{};
};

}  // namespace

std::unique_ptr<Stream> open_gzip_stream(const std::string& path) {
  SpillFile spill(path);
  Inflater(path).inflate_into(spill);
  return std::move(spill).finish();
}

Compression compression_of_tar(Bytes head) {
  if (has_good_checksum(head)) return Compression::none;  // even if its first name looks like a signature
  const Compression found = compression_of(head);
  return found == Compression::zlib ? Compression::none : found;  // no program makes such tars
}

Compression compression_of_file(const std::string& path) {
  std::array<std::byte, k_block_bytes> head;
  return compression_of_tar(Bytes(head).first(File::open_read(path).read_some(0, head)));
}

std::unique_ptr<Stream> open_stream(const std::string& path, Compression kind, FrameChecks checks) {
  switch (kind) {
    case Compression::gzip:
      return open_gzip_stream(path);
    case Compression::zstd:
      return open_zstd_stream(path, checks);
    case Compression::none:
      return open_plain_stream(path);
    default:
      return open_filtered_stream(path);
  }
}

}  // namespace bale::tar
