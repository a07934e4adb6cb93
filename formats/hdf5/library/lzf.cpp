#include "bale/formats/hdf5/library/lzf.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "bale/formats/hdf5/library/h5.hpp"

namespace bale::h5 {
namespace {

constexpr std::size_t k_first_copy = 32;        // item bytes below this are literals
constexpr std::size_t k_long_length = 7;        // the length continues in the next byte
constexpr std::size_t k_shortest_copy = 2;      // the length that 0 encodes
constexpr std::uint64_t k_max_expansion = 88;   // 3 bytes give at most 264
constexpr std::size_t k_chunk_bytes_value = 2;  // index of the filter parameter with the size of a plain chunk

/// H5Z_func_t: returns the number of plain bytes, or 0 on failure.
std::size_t lzf_filter(unsigned flags, std::size_t num_values, const unsigned values[], std::size_t num_bytes,
                       std::size_t* buffer_bytes, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;
  try {
    const Bytes stored(static_cast<const std::byte*>(*buffer), num_bytes);
    const std::uint64_t most = (std::uint64_t{num_bytes} + 1) * k_max_expansion;
    const bool is_stated = num_values > k_chunk_bytes_value && values[k_chunk_bytes_value] != 0;
    const std::uint64_t limit = is_stated ? std::min<std::uint64_t>(most, values[k_chunk_bytes_value]) : most;
    std::vector<std::byte> plain;
    if (!lzf_decompress(stored, limit, plain) || plain.empty()) return 0;
    void* const out = H5allocate_memory(plain.size(), false);
    if (out == nullptr) return 0;
    std::memcpy(out, plain.data(), plain.size());
    H5free_memory(*buffer);
    *buffer = out;
    *buffer_bytes = plain.size();
    return plain.size();
  } catch (const std::exception&) {  // must not propagate through the library
    return 0;
  }
}

}  // namespace

bool lzf_decompress(Bytes stored, std::uint64_t limit, std::vector<std::byte>& plain) {
  plain.clear();
  plain.reserve(std::min(limit, (std::uint64_t{stored.size()} + 1) * k_max_expansion));
  std::size_t at = 0;
  while (at < stored.size()) {
    const auto item = std::to_integer<std::size_t>(stored[at++]);
    if (item < k_first_copy) {
      const std::size_t count = item + 1;
      if (count > stored.size() - at || count > limit - plain.size()) return false;
      plain.insert(plain.end(), stored.begin() + static_cast<std::ptrdiff_t>(at),
                   stored.begin() + static_cast<std::ptrdiff_t>(at + count));
      at += count;
      continue;
    }
    std::size_t count = item >> 5;
    if (count == k_long_length) {
      if (at == stored.size()) return false;
      count += std::to_integer<std::size_t>(stored[at++]);
    }
    count += k_shortest_copy;
    if (at == stored.size()) return false;
    const std::size_t distance = ((item & 31) << 8 | std::to_integer<std::size_t>(stored[at++])) + 1;
    if (distance > plain.size() || count > limit - plain.size()) return false;
    // Byte by byte: a copy may overlap its own output.
    for (std::size_t from = plain.size() - distance; count > 0; --count, ++from) plain.push_back(plain[from]);
  }
  return true;
}

void register_lzf() {
  const H5Z_class2_t filter{.version = H5Z_CLASS_T_VERS,
                            .id = k_lzf_filter,
                            .encoder_present = 0,
                            .decoder_present = 1,
                            .name = "lzf",
                            .can_apply = nullptr,
                            .set_local = nullptr,
                            .filter = lzf_filter};
  H5Zregister(&filter);
}

}  // namespace bale::h5
