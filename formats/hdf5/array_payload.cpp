#include "bale/formats/hdf5/array_payload.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "bale/formats/hdf5/chunks.hpp"
#include "bale/formats/hdf5/scan.hpp"

namespace bale::h5 {
namespace {

class ArrayPayload final : public FilePayload {
 public:
  ArrayPayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  ~ArrayPayload() override {
    const H5Lock lock;
    array_.reset();
    container_.reset();
  }

  /// Apart from the constructor: what it opens is closed by the destructor, which takes the lock.
  void open(const std::string& path) {
    const H5Lock lock;
    container_.emplace(path);
    array_ = find_array(*container_);
    if (!array_) container_->damaged("the index promises decoded images, the file has none");
    num_rows_ = array_->dataset.dims[0];
    if (array_->dataset.layout == H5D_CONTIGUOUS) {
      const haddr_t offset = dataset_offset(array_->dataset.id.id());
      if (offset != HADDR_UNDEF) contiguous_ = offset;
    } else {
      chunks_ = ChunkMap::make(*container_, array_->dataset);
    }
  }

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    if (index_.fields()[field].located) return FilePayload::read(sample, field, extent, out);
    if (extent.offset >= num_rows_ || out.size() != array_->delivered_bytes()) {
      throw Error(ErrorCode::damaged, "index and file disagree about the images' number or size",
                  {.path = file_.path()});
    }
    const Bytes header = as_bytes(array_->header);
    std::copy(header.begin(), header.end(), out.begin());
    read_row(extent.offset, out.subspan(header.size()));
  }

  bool is_plain() const override { return false; }
  std::optional<FileRange> locate(std::uint64_t sample, std::uint32_t field, const Extent& extent) const override {
    if (index_.fields()[field].located) return FilePayload::locate(sample, field, extent);
    return std::nullopt;
  }

 private:
  struct PlainChunk {
    std::uint64_t number;
    std::vector<std::byte> bytes;
  };

  void read_row(std::uint64_t row, MutableBytes out) const {
    if (contiguous_) {
      file_.read_exact(*contiguous_ + row * out.size(), out);
    } else if (chunks_) {
      const std::shared_ptr<const PlainChunk> chunk = plain_chunk(row / chunks_->rows_per_chunk());
      const Bytes pixels = Bytes(chunk->bytes).subspan(row % chunks_->rows_per_chunk() * out.size(), out.size());
      std::copy(pixels.begin(), pixels.end(), out.begin());
    } else {
      read_through_library(row, out);
    }
  }

  /// Chunks of many images are kept until another is asked for, so that reading in order inflates each once.
  std::shared_ptr<const PlainChunk> plain_chunk(std::uint64_t number) const {
    {
      const std::lock_guard guard(last_mutex_);
      if (last_ && last_->number == number) return last_;
    }
    auto chunk = std::make_shared<const PlainChunk>(PlainChunk{number, chunks_->read(file_, number)});
    if (chunks_->rows_per_chunk() > 1) {
      const std::lock_guard guard(last_mutex_);
      last_ = chunk;
    }
    return chunk;
  }

  void read_through_library(std::uint64_t row, MutableBytes out) const {
    const H5Lock lock;
    const std::string& path = file_.path();
    std::vector<hsize_t> at(array_->dataset.dims.size());
    std::vector<hsize_t> count = array_->dataset.dims;
    at[0] = row;
    count[0] = 1;
    const H5Handle rows =
        take(H5Dget_space(array_->dataset.id.id()), H5Sclose, ErrorCode::damaged, "read a dataspace", path);
    const H5Handle cell = take(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                               ErrorCode::damaged, "make a dataspace", path);
    if (H5Sselect_hyperslab(rows.id(), H5S_SELECT_SET, at.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(array_->dataset.id.id(), array_->dataset.type.id(), cell.id(), rows.id(), H5P_DEFAULT, out.data()) <
            0) {
      throw_h5(ErrorCode::damaged, "read an image", path);
    }
  }

  const ShardIndex& index_;
  std::optional<InputFile> container_;
  std::optional<ArrayShape> array_;
  std::uint64_t num_rows_ = 0;
  std::optional<std::uint64_t> contiguous_;  // where the first row lies
  std::optional<ChunkMap> chunks_;
  mutable std::mutex last_mutex_;
  mutable std::shared_ptr<const PlainChunk> last_;
};

}  // namespace

std::unique_ptr<Payload> open_array_payload(const std::string& path, const ShardIndex& index) {
  auto payload = std::make_unique<ArrayPayload>(path, index);
  payload->open(path);
  return payload;
}

}  // namespace bale::h5
