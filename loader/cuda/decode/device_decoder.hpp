// DeviceDecoder: decodes the JPEGs that workers left in the rows of a batch by nvJPEG, and makes the batch's images of
// them by the kernels of resize_kernel.hpp.
//
//   rows of a slot: JPEGs -(nvJPEG)-> decoded images, whole -(kernels)-> images of the batch, 8 bits, H x W x C
//
// What nvJPEG refuses is decoded here, on the host, to the pixels that a worker makes: a batch that fails is tried
// again image by image, a sample that fails is not given to nvJPEG again, and after two batches without any image that
// could be decoded, workers decode everything. So which decoder makes an image depends on the image, unless the device
// fails.
//
// Used by whoever holds the session's mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bale/loader/cuda/decode/nvjpeg.hpp"
#include "bale/loader/cuda/driver/context.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/loader/ring/ring.hpp"
#include "bale/loader/transform/sample_pipeline.hpp"
#include "bale/loader/transform/transform.hpp"

namespace bale::cuda_detail {

/// What the kernels do with the decoded image; where its pixels and its weights are is left to be filled in.
ResizeRow resize_row(const EncodedImage& image);

class DeviceDecoder {
 public:
  /// nullptr if there is no nvJPEG that works, or if the device or its driver does not take the kernels, with the
  /// reason in `refusal`. `library`: see Nvjpeg::open(). `transform`: of the workers, 8 bits.
  static std::unique_ptr<DeviceDecoder> load(std::shared_ptr<const Context> context, const std::string& library,
                                             const Transform& transform, std::uint64_t max_pixels,
                                             std::string& refusal);
  /// All work that it enqueued must be done.
  ~DeviceDecoder();
  DeviceDecoder(const DeviceDecoder&) = delete;
  DeviceDecoder& operator=(const DeviceDecoder&) = delete;

  /// Of an image that workers leave to the device: what a batch decodes to has at most k_most_decoded_bytes.
  static std::uint64_t most_pixels(std::uint32_t batch_size);

  /// Where a batch is, and what its draws depend on.
  struct Rows {
    loader_detail::Ring& ring;
    std::uint32_t slot = 0;
    std::uint32_t num_rows = 0;
  };
  struct Undecodable {
    std::uint32_t row = 0;
    Error why;
  };
  /// Enqueues the decoding on `stream` and fills `table`, one ResizeRow per row. Rows that the host decoded have pixels
  /// afterwards. `block` is a number that no batch uses whose decoding may still run. Returns the rows whose image no
  /// decoder takes; they are unchanged. Throws the driver's errors.
  std::vector<Undecodable> decode(const Rows& rows, std::uint32_t block, StreamHandle stream, ResizeRow* table);
  /// Enqueues the kernels: `table` and `out` are device memory for the ResizeRows and the images of a batch. The images
  /// of rows that have pixels are not written. Precondition: decode() has left a row to the device.
  void resize(StreamHandle stream, DevicePointer table, DevicePointer out, std::uint32_t num_images) const;

  std::uint64_t num_on_device() const { return num_on_device_; }
  /// Left to the device, but decoded on the host, because the device refused.
  std::uint64_t num_after_refusal() const { return num_after_refusal_; }
  /// Why everything is decoded on the host by now; empty while the device decodes.
  const std::string& given_up() const { return given_up_; }

 private:
  /// A state of nvJPEG has memory of its own that is in use until its batch is decoded.
  struct State {
    NvjpegState handle = nullptr;
    std::size_t batch_size = 0;  // for which it is initialized; 0: not
    // What the last batch was given, as long as it may be read.
    std::vector<const unsigned char*> data{};
    std::vector<std::size_t> lengths{};
    std::vector<NvjpegImage> images{};
  };
  /// One image that the device decodes.
  struct Job {
    std::uint32_t row = 0;
    Bytes jpeg{};
    std::uint64_t at = 0;  // in the memory for decoded images
    std::uint64_t size = 0;
    std::uint32_t pitch = 0;
    NvjpegStatus status = NvjpegStatus::not_initialized;
    bool was_alone = false;  // the status is of this image, not of its batch
    bool done() const { return status == NvjpegStatus::success; }
  };

  DeviceDecoder(std::shared_ptr<const Context> context, const Transform& transform, std::uint64_t max_pixels);
  std::vector<Job> jobs_of(const Rows& rows, ResizeRow* table, std::uint64_t& table_words) const;
  bool make_room(std::uint64_t decoded_bytes, std::uint64_t table_words, StreamHandle stream,
                 loader_detail::Ring& ring);
  void synchronize(StreamHandle stream) const;
  void run_jobs(std::span<Job> jobs, State& state, StreamHandle stream);
  NvjpegStatus run_batch(std::span<const Job> jobs, State& state, StreamHandle stream) const;
  NvjpegImage destination(const Job& job) const;
  State& state_of(std::uint32_t block);
  void note_batch(std::span<const Job> jobs, const Rows& rows);
  void give_up(const std::string& why, loader_detail::Ring& ring);
  void decode_here(const Rows& rows, std::uint32_t row);

  std::shared_ptr<const Context> context_;
  Transform transform_;
  std::unique_ptr<Nvjpeg> nvjpeg_;
  std::unique_ptr<const Module> module_;
  FunctionHandle weights_kernel_ = nullptr;
  FunctionHandle resize_kernel_ = nullptr;
  std::vector<State> states_;  // by block
  std::unique_ptr<const DeviceMemory> decoded_;
  std::unique_ptr<const DeviceMemory> table_;
  std::uint64_t decoded_bytes_ = 0;
  std::uint64_t table_words_ = 0;
  SamplePipeline pipeline_;
  std::set<std::uint64_t> refused_samples_;
  std::string given_up_;
  std::uint32_t failed_batches_ = 0;  // one after the other
  std::uint64_t num_on_device_ = 0;
  std::uint64_t num_after_refusal_ = 0;
};

}  // namespace bale::cuda_detail
