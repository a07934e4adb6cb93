#include "bale/formats/hdf5/file/chunks.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <zlib.h>

#include "bale/formats/hdf5/file/input.hpp"
#include "bale/formats/hdf5/library/lzf.hpp"

namespace bale::h5 {
namespace {

constexpr std::uint64_t k_checksum_bytes = 4;

[[noreturn]] void fail(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::damaged, why, {.path = path, .hint = "copy or pack it again"});
}

std::vector<std::byte> inflate_all(const std::vector<std::byte>& stored, std::uint64_t limit, const std::string& path) {
  std::vector<std::byte> plain(limit);
  uLongf plain_bytes = plain.size();
  uLong stored_bytes = stored.size();
  const int result = uncompress2(reinterpret_cast<Bytef*>(plain.data()), &plain_bytes,
                                 reinterpret_cast<const Bytef*>(stored.data()), &stored_bytes);
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK) fail(path, "a compressed chunk does not decompress");
  plain.resize(plain_bytes);
  return plain;
}

std::vector<std::byte> unpack_lzf(const std::vector<std::byte>& stored, std::uint64_t limit, const std::string& path) {
  std::vector<std::byte> plain;
  if (!lzf_decompress(stored, limit, plain)) fail(path, "a compressed chunk does not decompress");
  return plain;
}

std::vector<std::byte> unshuffle(const std::vector<std::byte>& stored, std::size_t width) {
  const std::size_t count = width == 0 ? 0 : stored.size() / width;
  if (width < 2 || count < 2) return stored;
  std::vector<std::byte> plain(stored);  // bytes after the last whole element are not shuffled
  for (std::size_t byte = 0; byte < width; ++byte) {
    for (std::size_t i = 0; i < count; ++i) plain[i * width + byte] = stored[byte * count + i];
  }
  return plain;
}

/// Fletcher-32 over big-endian 16-bit words, both sums modulo 65535 (format specification, filter 3).
std::uint32_t fletcher32(Bytes bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const auto next = i + 1 < bytes.size() ? std::to_integer<std::uint64_t>(bytes[i + 1]) : 0;
    low = (low + (std::to_integer<std::uint64_t>(bytes[i]) << 8) + next) % 65535;
    high = (high + low) % 65535;
  }
  return static_cast<std::uint32_t>(high << 16 | low);
}

void strip_fletcher32(std::vector<std::byte>& stored, const std::string& path) {
  if (stored.size() < k_checksum_bytes) fail(path, "a chunk is shorter than its checksum");
  std::uint32_t wanted = 0;
  std::memcpy(&wanted, stored.data() + stored.size() - k_checksum_bytes, sizeof wanted);
  stored.resize(stored.size() - k_checksum_bytes);
  const std::uint32_t found = fletcher32(stored);
  // The library's sums are in 1..65535, ours in 0..65534. They are equal modulo 65535.
  if ((wanted >> 16) % 65535 != found >> 16 || (wanted & 0xFFFF) % 65535 != (found & 0xFFFF)) {
    fail(path, "a chunk's Fletcher-32 checksum does not match");
  }
}

}  // namespace

std::vector<std::byte> undo_filters(const std::vector<ChunkFilter>& filters, std::uint32_t skipped,
                                    std::vector<std::byte> stored, std::uint64_t plain_bytes, const std::string& path) {
  for (std::size_t i = filters.size(); i-- > 0;) {
    if ((skipped >> i & 1U) != 0) continue;
    switch (filters[i].kind) {
      case ChunkFilter::Kind::deflate:
        stored = inflate_all(stored, plain_bytes + k_checksum_bytes * filters.size(), path);
        break;
      case ChunkFilter::Kind::lzf:
        stored = unpack_lzf(stored, plain_bytes + k_checksum_bytes * filters.size(), path);
        break;
      case ChunkFilter::Kind::shuffle:
        stored = unshuffle(stored, filters[i].element_bytes);
        break;
      case ChunkFilter::Kind::fletcher32:
        strip_fletcher32(stored, path);
        break;
    }
  }
  if (stored.size() != plain_bytes) fail(path, "a chunk does not have the size it must have");
  return stored;
}

namespace {

// H5Dget_chunk_info of 1.10 walks the chunk index from its start in each call, so the time for a whole map is quadratic
// in the number of chunks: about a second for 8,192.
constexpr hsize_t k_max_chunks = 8192;
constexpr std::uint64_t k_max_chunk_bytes = std::uint64_t{1} << 30;

std::optional<std::vector<ChunkFilter>> read_pipeline(hid_t creation) {
  std::vector<ChunkFilter> filters;
  const int count = H5Pget_nfilters(creation);
  if (count < 0 || count > 32) return std::nullopt;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    unsigned values[8] = {};
    std::size_t num_values = std::size(values);
    switch (H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &num_values, values, 0, nullptr, &config)) {
      case H5Z_FILTER_DEFLATE:
        filters.push_back({ChunkFilter::Kind::deflate});
        break;
      case H5Z_FILTER_SHUFFLE:
        // Without its parameter (vlen data) the library does not apply the filter to any chunk.
        filters.push_back({ChunkFilter::Kind::shuffle, num_values < 1 ? 1 : values[0]});
        break;
      case H5Z_FILTER_FLETCHER32:
        filters.push_back({ChunkFilter::Kind::fletcher32});
        break;
      case k_lzf_filter:
        filters.push_back({ChunkFilter::Kind::lzf});
        break;
      default:
        return std::nullopt;
    }
  }
  return filters;
}

/// Whether the chunks that reach beyond the dataset's end are stored without filters (H5Pset_chunk_opts).
bool leaves_edges_unfiltered(hid_t creation) {
  unsigned options = 0;
  return H5Pget_chunk_opts(creation, &options) >= 0 && (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
}

}  // namespace

std::vector<std::byte> fill_element(const InputFile& file, const InputDataset& dataset) {
  std::vector<std::byte> fill(dataset.element_bytes);
  const H5Handle creation =
      take(H5Dget_create_plist(dataset.id.id()), H5Pclose, ErrorCode::damaged, "read a dataset", file.path());
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(creation.id(), &defined) < 0) {
    throw_h5(ErrorCode::damaged, "read a fill value", file.path());
  }
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return fill;
  if (is_vlen(dataset)) {
    file.unsupported(fmt::format("/{} has a fill value of variable length", printable(dataset.name)),
                     "rewrite it with all its rows");
  }
  if (H5Pget_fill_value(creation.id(), dataset.type.id(), fill.data()) < 0) {
    throw_h5(ErrorCode::damaged, "read a fill value", file.path());
  }
  return fill;
}

std::optional<ChunkMap> ChunkMap::make(const InputFile& file, const InputDataset& dataset) {
  const std::size_t rank = dataset.dims.size();
  // Whether chunk addresses include the user block differs between library versions.
  if (dataset.layout != H5D_CHUNKED || rank == 0 || file.user_block() != 0) return std::nullopt;
  const H5Handle creation =
      take(H5Dget_create_plist(dataset.id.id()), H5Pclose, ErrorCode::damaged, "read a dataset", file.path());
  std::vector<hsize_t> chunk(rank);
  if (H5Pget_chunk(creation.id(), static_cast<int>(rank), chunk.data()) != static_cast<int>(rank) || chunk[0] == 0) {
    throw_h5(ErrorCode::damaged, "read a chunk size", file.path());
  }
  if (!std::equal(chunk.begin() + 1, chunk.end(), dataset.dims.begin() + 1)) return std::nullopt;
  auto filters = read_pipeline(creation.id());
  if (!filters) return std::nullopt;

  ChunkMap map;
  map.rows_per_chunk_ = chunk[0];
  map.filters_ = std::move(*filters);
  std::uint64_t bytes = std::max<std::uint64_t>(dataset.element_bytes, 1);
  for (const hsize_t side : chunk) {
    if (__builtin_mul_overflow(bytes, std::uint64_t{side}, &bytes)) return std::nullopt;
  }
  if (bytes > k_max_chunk_bytes) return std::nullopt;
  map.chunk_bytes_ = bytes;
  const std::uint64_t rows = dataset.count == 0 ? 0 : dataset.dims[0];
  const std::uint64_t needed = rows / chunk[0] + (rows % chunk[0] != 0 ? 1 : 0);

  const H5Handle space =
      take(H5Dget_space(dataset.id.id()), H5Sclose, ErrorCode::damaged, "read a dataspace", file.path());
  hsize_t stored = 0;
  if (H5Dget_num_chunks(dataset.id.id(), space.id(), &stored) < 0)
    throw_h5(ErrorCode::damaged, "count the chunks", file.path());
  if (stored > k_max_chunks || needed > std::uint64_t{1} << 28) return std::nullopt;
  map.chunks_.resize(needed);
  const bool cut_edge = leaves_edges_unfiltered(creation.id()) && rows % chunk[0] != 0;
  std::uint64_t num_written = 0;
  for (hsize_t i = 0; i < stored; ++i) {
    std::vector<hsize_t> at(rank);
    unsigned skipped = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    if (H5Dget_chunk_info(dataset.id.id(), space.id(), i, at.data(), &skipped, &address, &size) < 0) {
      throw_h5(ErrorCode::damaged, "look up a chunk", file.path());
    }
    if (address == HADDR_UNDEF || at[0] / chunk[0] >= needed) continue;
    if (address > file.size() || size > file.size() - address || size == 0)
      file.damaged("a chunk lies past the end of the file");
    if (map.chunk_bytes_ > size * k_max_ratio + k_small_bytes) file.damaged("a chunk is too small for its content");
    const std::uint64_t number = at[0] / chunk[0];
    if (cut_edge && number == needed - 1) skipped = ~0U;
    map.chunks_[number] = {address, size, skipped};
    ++num_written;
  }
  if (num_written < needed) map.fill_ = fill_element(file, dataset);
  return map;
}

std::vector<std::byte> ChunkMap::read(const File& file, std::uint64_t chunk) const {
  const Place& place = chunks_[chunk];
  if (place.address == 0) {
    std::vector<std::byte> plain(chunk_bytes_);
    for (std::size_t at = 0; at + fill_.size() <= plain.size() && !fill_.empty(); at += fill_.size()) {
      std::copy(fill_.begin(), fill_.end(), plain.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return plain;
  }
  std::vector<std::byte> stored(place.bytes);
  file.read_exact(place.address, stored);
  return undo_filters(filters_, place.skipped, std::move(stored), chunk_bytes_, file.path());
}

std::vector<std::byte> read_raw_rows(const InputFile& file, const InputDataset& dataset) {
  const bool flat = dataset.dims.size() == 1 || (dataset.dims.size() == 2 && dataset.dims[1] == 1);
  if (!flat) file.unsupported(fmt::format("/{} is not one-dimensional", printable(dataset.name)));
  file.check_table(dataset);
  const std::uint64_t total = dataset.count * dataset.element_bytes;
  std::vector<std::byte> rows(total);
  if (dataset.layout == H5D_CONTIGUOUS) {
    const haddr_t offset = dataset_offset(dataset.id.id());
    if (offset == HADDR_UNDEF) static_cast<void>(fill_element(file, dataset));  // throws if it has a vlen fill value
    if (total > 0 && offset != HADDR_UNDEF) file.bytes().read_exact(offset, rows);
    return rows;
  }
  const auto map = ChunkMap::make(file, dataset);
  if (!map) {
    file.unsupported(fmt::format("/{}: its chunks cannot be read here", printable(dataset.name)),
                     "rewrite it with `h5repack -l CONTI`");
  }
  for (std::uint64_t chunk = 0, at = 0; chunk < map->num_chunks(); ++chunk) {
    const std::vector<std::byte> plain = map->read(file.bytes(), chunk);
    const std::uint64_t part = std::min<std::uint64_t>(plain.size(), total - at);
    std::copy_n(plain.begin(), part, rows.begin() + static_cast<std::ptrdiff_t>(at));
    at += part;
  }
  return rows;
}

}  // namespace bale::h5
