// What tests of batches on a device share. It uses the driver as a program does, so it works with every driver.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bale/loader/cuda/cuda_loader.hpp"
#include "bale/loader/cuda/driver/context.hpp"
#include "bale/loader/transform/transforms.hpp"
#include "bale/tests/unit/loader/loader_support.hpp"

namespace bale::test {

/// All that a batch holds.
struct Snapshot {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::vector<std::uint64_t> samples{};
  std::vector<std::int64_t> labels{};
  std::vector<std::uint8_t> mask{};
  std::vector<std::int64_t> partner_labels{};  // empty without mixing
  std::vector<float> shares{};                 // empty without mixing
  std::vector<std::byte> images{};
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

inline Snapshot snapshot(const Batch& batch) {
  return {.epoch = batch.epoch(),
          .index = batch.index(),
          .samples = {batch.samples().begin(), batch.samples().end()},
          .labels = {batch.labels().begin(), batch.labels().end()},
          .mask = {batch.mask().begin(), batch.mask().end()},
          .partner_labels = {batch.partner_labels().begin(), batch.partner_labels().end()},
          .shares = {batch.shares().begin(), batch.shares().end()},
          .images = {batch.pixels().begin(), batch.pixels().end()}};
}

/// A consumer of batches: gives its stream work that reads a batch, which is done some time later. It reads into
/// page-locked memory, so that the host does not wait for it.
class Trainer {
 public:
  /// With a stream of its own.
  explicit Trainer(std::shared_ptr<const cuda_detail::Context> context)
      : context_(std::move(context)), own_(std::make_unique<cuda_detail::Stream>(context_)), stream_(own_->handle()) {}
  /// On another stream, such as the default stream of a thread.
  Trainer(std::shared_ptr<const cuda_detail::Context> context, cuda_detail::StreamHandle stream)
      : context_(std::move(context)), stream_(stream) {}
  ~Trainer() { synchronize(); }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  CudaStream stream() const { return stream_; }

  void step(const DeviceBatch& batch) {
    Read read{.known = {.epoch = batch.epoch(),
                        .index = batch.index(),
                        .samples = {batch.samples().begin(), batch.samples().end()}}};
    const cuda_detail::Current current(*context_);
    const std::size_t rows = batch.size();
    read.labels = copy(batch.labels(), rows);
    read.mask = copy(batch.mask(), rows);
    read.partner_labels = copy(batch.partner_labels(), rows);
    read.shares = copy(batch.shares(), rows);
    read.images = copy(static_cast<const std::byte*>(batch.images()), rows * batch.transform().image_bytes());
    read_.push_back(std::move(read));
  }
  /// What the steps so far have read.
  std::vector<Snapshot> finish() {
    synchronize();
    std::vector<Snapshot> all;
    for (Read& read : read_) {
      Snapshot& one = all.emplace_back(std::move(read.known));
      one.labels.assign(read.labels.begin(), read.labels.end());
      one.mask.assign(read.mask.begin(), read.mask.end());
      one.partner_labels.assign(read.partner_labels.begin(), read.partner_labels.end());
      one.shares.assign(read.shares.begin(), read.shares.end());
      one.images.assign(read.images.begin(), read.images.end());
    }
    read_.clear();
    current_ = 0;
    used_ = 0;
    return all;
  }

 private:
  struct Read {
    Snapshot known{};  // to the host
    std::span<const std::int64_t> labels{};
    std::span<const std::uint8_t> mask{};
    std::span<const std::int64_t> partner_labels{};
    std::span<const float> shares{};
    std::span<const std::byte> images{};
  };
  struct Block {
    std::unique_ptr<const cuda_detail::HostMemory> memory;
    std::size_t size = 0;
  };
  static constexpr std::size_t k_block_bytes = std::size_t{1} << 22;

  void synchronize() const {
    const cuda_detail::Current current(*context_);
    context_->driver().check(context_->driver().cuStreamSynchronize(stream_), "wait for what was read");
  }

  /// Empty of nullptr.
  template <typename Value>
  std::span<const Value> copy(const Value* from, std::size_t count) {
    if (from == nullptr) return {};
    const std::size_t size = count * sizeof(Value);
    std::byte* const to = room_for(size);
    const cuda_detail::Driver& driver = context_->driver();
    driver.check(driver.cuMemcpyDtoHAsync_v2(to, reinterpret_cast<cuda_detail::DevicePointer>(from), size, stream_),
                 "read a batch");
    return {reinterpret_cast<const Value*>(to), count};
  }

  /// Blocks are kept: to take page-locked memory may wait for the device.
  std::byte* room_for(std::size_t size) {
    const std::size_t wanted = (size + 7) / 8 * 8;
    while (current_ < blocks_.size() && used_ + wanted > blocks_[current_].size) {
      ++current_;
      used_ = 0;
    }
    if (current_ == blocks_.size()) {
      const std::size_t block = std::max(wanted, k_block_bytes);
      blocks_.push_back({std::make_unique<const cuda_detail::HostMemory>(context_, block), block});
    }
    std::byte* const place = blocks_[current_].memory->data() + used_;
    used_ += wanted;
    return place;
  }

  std::shared_ptr<const cuda_detail::Context> context_;
  std::unique_ptr<const cuda_detail::Stream> own_;
  cuda_detail::StreamHandle stream_;
  std::vector<Read> read_;
  std::vector<Block> blocks_;
  std::size_t current_ = 0;  // block
  std::size_t used_ = 0;     // bytes of it
};

/// The rest of the current epoch.
template <typename AnyTrainer>
void train_epoch(CudaLoader& loader, AnyTrainer& trainer) {
  while (const auto batch = loader.next(trainer.stream())) trainer.step(*batch);
}

inline std::vector<Snapshot> snapshots(Loader& loader, int num_epochs = 1) {
  std::vector<Snapshot> all;
  for (int epoch = 0; epoch < num_epochs; ++epoch) {
    while (const auto batch = loader.next()) all.push_back(snapshot(*batch));
  }
  return all;
}

/// The batches of some epochs on the device.
inline std::vector<Snapshot> on_device(CudaLoader& loader, int num_epochs = 1) {
  Trainer trainer(cuda_detail::Context::open(0));
  for (int epoch = 0; epoch < num_epochs; ++epoch) train_epoch(loader, trainer);
  return trainer.finish();
}

/// The same without RandomHorizontalFlip, for devices that mirror.
inline Transform without_flips(Transform transform) {
  TransformList nodes = transform.list->nodes;
  std::erase_if(
      nodes, [](const TransformNode& node) { return std::holds_alternative<transforms::RandomHorizontalFlip>(node); });
  transform.list = list_transform(std::move(nodes)).list;
  return transform;
}

inline Transform float_transform(DType dtype, PixelLayout layout, std::uint32_t size = 32) {
  Transform transform = train_transform(size);
  transform.dtype = dtype;
  transform.layout = layout;
  transform.normalize = true;
  return transform;
}

}  // namespace bale::test
