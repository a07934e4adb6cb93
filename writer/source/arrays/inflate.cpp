#include "bale/writer/source/arrays/array_source.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

constexpr std::size_t k_block = std::size_t{1} << 20;

}  // namespace

std::vector<std::byte> inflate_all(Bytes input, DeflateHeader header, const std::string& path, std::uint64_t offset) {
  constexpr int k_with_gzip_header = 16;
  z_stream state{};
  if (inflateInit2(&state, MAX_WBITS + (header == DeflateHeader::gzip ? k_with_gzip_header : 0)) != Z_OK) {
    throw std::bad_alloc();
  }
  struct End {
    z_stream& state;
    ~End() { inflateEnd(&state); }
  } const end{state};
  std::vector<std::byte> out;
  state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  state.avail_in = static_cast<uInt>(std::min<std::uint64_t>(input.size(), std::numeric_limits<uInt>::max()));
  int result = Z_OK;
  while (result == Z_OK) {
    if (out.size() >= k_max_array_bytes) {
      throw Error(ErrorCode::unsupported, fmt::format("more than {} bytes uncompressed", k_max_array_bytes),
                  {.path = path});
    }
    const std::size_t had = out.size();
    out.resize(had + k_block);
    state.next_out = reinterpret_cast<Bytef*>(out.data() + had);
    state.avail_out = static_cast<uInt>(k_block);
    result = inflate(&state, Z_NO_FLUSH);
    out.resize(had + k_block - state.avail_out);
    if (result == Z_BUF_ERROR || (result == Z_OK && state.avail_in == 0 && state.avail_out != 0)) break;
  }
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_STREAM_END || state.avail_in != 0) {
    throw Error(ErrorCode::damaged,
                fmt::format("damaged or incomplete {} data", header == DeflateHeader::gzip ? "gzip" : "zlib"),
                {.path = path, .offset = offset + input.size() - state.avail_in, .hint = "download it again"});
  }
  return out;
}

}  // namespace bale
