#include "bale/formats/hdf5/file/rows.hpp"

#include <algorithm>

namespace bale::h5 {

RowReader::RowReader(const InputFile& file, InputDataset dataset) : file_(file), dataset_(std::move(dataset)) {
  file.require_filters(dataset_);
  num_rows_ = dataset_.dims.empty() || dataset_.count == 0 ? 0 : dataset_.dims[0];
  row_bytes_ = num_rows_ == 0 ? 0 : dataset_.count / num_rows_ * dataset_.element_bytes;
  if (dataset_.layout == H5D_CONTIGUOUS) {
    const haddr_t offset = dataset_offset(dataset_.id.id());
    if (offset != HADDR_UNDEF) contiguous_ = offset;
  } else {
    chunks_ = ChunkMap::make(file, dataset_);
  }
}

void RowReader::read(std::uint64_t first, std::uint64_t count, MutableBytes out) const {
  if (contiguous_) {
    file_.bytes().read_exact(*contiguous_ + first * row_bytes_, out);
  } else if (chunks_) {
    const std::uint64_t per_chunk = chunks_->rows_per_chunk();
    for (std::uint64_t row = first; row < first + count;) {
      const std::uint64_t within = row % per_chunk;
      const std::uint64_t part = std::min(first + count - row, per_chunk - within);
      const std::shared_ptr<const PlainChunk> chunk = plain_chunk(row / per_chunk);
      const Bytes rows = Bytes(chunk->bytes).subspan(within * row_bytes_, part * row_bytes_);
      std::copy(rows.begin(), rows.end(), out.begin());
      out = out.subspan(rows.size());
      row += part;
    }
  } else {
    read_through_library(first, count, out);
  }
}

/// If chunks have several rows, the last chunk is kept, so that reading in order decompresses each chunk once.
std::shared_ptr<const RowReader::PlainChunk> RowReader::plain_chunk(std::uint64_t number) const {
  {
    const std::lock_guard guard(last_mutex_);
    if (last_ && last_->number == number) return last_;
  }
  auto chunk = std::make_shared<const PlainChunk>(PlainChunk{number, chunks_->read(file_.bytes(), number)});
  if (chunks_->rows_per_chunk() > 1) {
    const std::lock_guard guard(last_mutex_);
    last_ = chunk;
  }
  return chunk;
}

void RowReader::read_through_library(std::uint64_t first, std::uint64_t count, MutableBytes out) const {
  const std::string& path = file_.path();
  std::vector<hsize_t> at(dataset_.dims.size());
  std::vector<hsize_t> counts = dataset_.dims;
  at[0] = first;
  counts[0] = count;
  const H5Handle rows = take(H5Dget_space(dataset_.id.id()), H5Sclose, ErrorCode::damaged, "read a dataspace", path);
  const H5Handle cell = take(H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), H5Sclose,
                             ErrorCode::damaged, "make a dataspace", path);
  if (H5Sselect_hyperslab(rows.id(), H5S_SELECT_SET, at.data(), nullptr, counts.data(), nullptr) < 0 ||
      H5Dread(dataset_.id.id(), dataset_.type.id(), cell.id(), rows.id(), H5P_DEFAULT, out.data()) < 0) {
    throw_h5(ErrorCode::damaged, "read /" + printable(dataset_.name), path);
  }
}

}  // namespace bale::h5
