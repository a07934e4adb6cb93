#include "bale/loader/cuda/decode/device_decoder.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/image/resample/resample_weights.hpp"
#include "bale/loader/cuda/kernels/converter.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"

namespace bale::cuda_detail {

extern const char* const k_resize_kernels_ptx;

namespace {

constexpr std::uint64_t k_most_decoded_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_decoded_alignment_bytes = 256;
constexpr const char* k_weights_kernel = "bale_resize_weights";
constexpr const char* k_resize_kernel = "bale_resize";
constexpr std::uint32_t k_items_a_thread = 4;
constexpr std::uint32_t k_patience = 2;  // batches of which the device decodes no image, before it gets no more

ResizeAxis axis_of(std::uint32_t origin, std::uint32_t input, std::uint32_t output, std::uint32_t first, bool cubic) {
  const double support = cubic ? image_detail::Cubic::k_support : image_detail::Triangle::k_support;
  const std::uint32_t most_taps = image_detail::AxisGrid(input, output, support).most_taps();
  return {.origin = origin, .input = input, .output = output, .first = first, .entry_words = 2 + most_taps};
}

bool is_about_image(NvjpegStatus status) {
  return status == NvjpegStatus::bad_jpeg || status == NvjpegStatus::jpeg_not_supported ||
         status == NvjpegStatus::implementation_not_supported || status == NvjpegStatus::incomplete_bitstream;
}

}  // namespace

ResizeRow resize_row(const EncodedImage& image) {
  const ResizeSpec& spec = image.resize;
  const bool cubic = spec.filter == Filter::bicubic;
  ResizeRow row{.cubic = cubic ? 1U : 0U, .down_first = rows_come_first(spec) ? 1U : 0U};
  row.across = axis_of(image.left, spec.source_width, spec.width, spec.window.x, cubic);
  row.across.mirrored = spec.mirror ? 1 : 0;
  row.down = axis_of(image.top, spec.source_height, spec.height, spec.window.y, cubic);
  return row;
}

std::unique_ptr<DeviceDecoder> DeviceDecoder::load(std::shared_ptr<const Context> context, const std::string& library,
                                                   const Transform& transform, std::uint64_t max_pixels,
                                                   std::string& refusal) {
  std::unique_ptr<DeviceDecoder> decoder(new DeviceDecoder(context, transform, max_pixels));
  decoder->module_ = Module::load(context, k_resize_kernels_ptx, {k_weights_kernel, k_resize_kernel}, refusal);
  if (!decoder->module_) return nullptr;
  decoder->weights_kernel_ = decoder->module_->function(k_weights_kernel);
  decoder->resize_kernel_ = decoder->module_->function(k_resize_kernel);
  const Current current(*context);
  decoder->nvjpeg_ = Nvjpeg::open(library, refusal);
  return decoder->nvjpeg_ ? std::move(decoder) : nullptr;
}

DeviceDecoder::DeviceDecoder(std::shared_ptr<const Context> context, const Transform& transform,
                             std::uint64_t max_pixels)
    : context_(std::move(context)), transform_(transform), pipeline_(transform, max_pixels) {}

DeviceDecoder::~DeviceDecoder() {
  const Current current(*context_, std::nothrow);
  if (!current) {  // the device or its driver is gone, and what nvJPEG had there
    if (nvjpeg_) nvjpeg_->abandon();
    return;
  }
  for (const State& state : states_) {
    if (state.handle != nullptr) nvjpeg_->nvjpegJpegStateDestroy(state.handle);
  }
  nvjpeg_.reset();
}

std::uint64_t DeviceDecoder::most_pixels(std::uint32_t batch_size) {
  return (k_most_decoded_bytes / batch_size - k_decoded_alignment_bytes) / 3;
}

std::vector<DeviceDecoder::Undecodable> DeviceDecoder::decode(const Rows& rows, std::uint32_t block,
                                                              StreamHandle stream, ResizeRow* table) {
  std::fill_n(table, rows.num_rows, ResizeRow{});
  std::uint64_t table_words = 0;
  std::vector<Job> jobs = jobs_of(rows, table, table_words);
  const std::uint64_t decoded_bytes = jobs.empty() ? 0 : jobs.back().at + jobs.back().size;
  if (!jobs.empty() && make_room(decoded_bytes, table_words, stream, rows.ring)) {
    run_jobs(jobs, state_of(block), stream);
    note_batch(jobs, rows);
  }
  std::vector<bool> is_done(rows.num_rows, false);
  for (const Job& job : jobs) {
    is_done[job.row] = job.done();
    if (!job.done()) table[job.row] = {};
  }
  std::vector<Undecodable> undecodable;
  for (std::uint32_t i = 0; i < rows.num_rows; ++i) {
    if (is_done[i] || rows.ring.row(rows.slot, i).encoded.bytes == 0) continue;
    try {
      decode_here(rows, i);
    } catch (const Error& error) {
      if (!is_data_error(error)) throw;
      undecodable.push_back({i, error});
    }
  }
  return undecodable;
}

/// The images that the device may decode, and their rows of the table.
std::vector<DeviceDecoder::Job> DeviceDecoder::jobs_of(const Rows& rows, ResizeRow* table,
                                                       std::uint64_t& table_words) const {
  std::vector<Job> jobs;
  if (!given_up_.empty()) return jobs;
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < rows.num_rows; ++i) {
    const loader_detail::Row& row = rows.ring.row(rows.slot, i);
    if (row.encoded.bytes == 0 || refused_samples_.contains(row.sample)) continue;
    ResizeRow& resize = table[i] = resize_row(row.encoded);
    resize.decoded = at;
    resize.pitch = row.source_width * 3;
    resize.across.table = table_words;
    table_words += std::uint64_t{transform_.width} * resize.across.entry_words;
    resize.down.table = table_words;
    table_words += std::uint64_t{transform_.height} * resize.down.entry_words;
    const Bytes jpeg = rows.ring.pixels(rows.slot).subspan(row.offset, row.encoded.bytes);
    const std::uint64_t size = round_up(std::uint64_t{resize.pitch} * row.source_height, k_decoded_alignment_bytes);
    jobs.push_back({.row = i, .jpeg = jpeg, .at = at, .size = size, .pitch = resize.pitch});
    at += size;
  }
  return jobs;
}

/// Returns false if the device does not have the memory. Then it gets no more images: memory that is short is not
/// likely to come back, and asking for it takes time.
bool DeviceDecoder::make_room(std::uint64_t decoded_bytes, std::uint64_t table_words, StreamHandle stream,
                              loader_detail::Ring& ring) {
  if (decoded_bytes <= decoded_bytes_ && table_words <= table_words_) return true;
  const auto with_reserve = [](std::uint64_t size) { return size + size / 4; };
  try {
    synchronize(stream);  // the batches before use the memory
    if (decoded_bytes > decoded_bytes_) {
      decoded_.reset();
      decoded_bytes_ = 0;
      decoded_ = std::make_unique<const DeviceMemory>(context_, with_reserve(decoded_bytes));
      decoded_bytes_ = with_reserve(decoded_bytes);
    }
    if (table_words > table_words_) {
      table_.reset();
      table_words_ = 0;
      table_ = std::make_unique<const DeviceMemory>(context_, with_reserve(table_words) * sizeof(std::int32_t));
      table_words_ = with_reserve(table_words);
    }
    return true;
  } catch (const Error& error) {
    give_up(error.message(), ring);
    return false;
  }
}

void DeviceDecoder::synchronize(StreamHandle stream) const {
  const Current current(*context_);
  context_->driver().check(context_->driver().cuStreamSynchronize(stream), "wait for a stream");
}

DeviceDecoder::State& DeviceDecoder::state_of(std::uint32_t block) {
  if (states_.size() <= block) states_.resize(block + 1);
  return states_[block];
}

/// All at once, or else each by itself.
void DeviceDecoder::run_jobs(std::span<Job> jobs, State& state, StreamHandle stream) {
  const Current current(*context_);
  NvjpegStatus status = NvjpegStatus::success;
  if (state.handle == nullptr) {
    status = nvjpeg_->nvjpegJpegStateCreate(nvjpeg_->handle(), &state.handle);
    if (status != NvjpegStatus::success) state.handle = nullptr;
  }
  if (status == NvjpegStatus::success) status = run_batch(jobs, state, stream);
  for (Job& job : jobs) job.status = status;
  if (status == NvjpegStatus::success) return;
  state.batch_size = 0;
  synchronize(stream);  // a part of the batch may be running
  if (state.handle == nullptr) return;
  for (Job& job : jobs) {
    NvjpegImage image = destination(job);
    job.was_alone = true;
    job.status = nvjpeg_->nvjpegDecode(nvjpeg_->handle(), state.handle, as_uchar(job.jpeg), job.jpeg.size(),
                                       k_nvjpeg_rgb, &image, stream);
    synchronize(stream);  // the state is used again, and the row if the image was refused
  }
}

NvjpegStatus DeviceDecoder::run_batch(std::span<const Job> jobs, State& state, StreamHandle stream) const {
  if (state.batch_size != jobs.size()) {
    const NvjpegStatus status = nvjpeg_->nvjpegDecodeBatchedInitialize(nvjpeg_->handle(), state.handle,
                                                                       static_cast<int>(jobs.size()), 1, k_nvjpeg_rgb);
    if (status != NvjpegStatus::success) return status;
    state.batch_size = jobs.size();
  }
  state.data.clear();
  state.lengths.clear();
  state.images.clear();
  for (const Job& job : jobs) {
    state.data.push_back(as_uchar(job.jpeg));
    state.lengths.push_back(job.jpeg.size());
    state.images.push_back(destination(job));
  }
  return nvjpeg_->nvjpegDecodeBatched(nvjpeg_->handle(), state.handle, state.data.data(), state.lengths.data(),
                                      state.images.data(), stream);
}

NvjpegImage DeviceDecoder::destination(const Job& job) const {
  NvjpegImage image;
  image.channel[0] = reinterpret_cast<unsigned char*>(decoded_->address() + job.at);
  image.pitch[0] = job.pitch;
  return image;
}

void DeviceDecoder::note_batch(std::span<const Job> jobs, const Rows& rows) {
  std::uint64_t num_done = 0;
  for (const Job& job : jobs) {
    if (job.done()) ++num_done;
    if (job.was_alone && is_about_image(job.status)) refused_samples_.insert(rows.ring.row(rows.slot, job.row).sample);
  }
  num_on_device_ += num_done;
  failed_batches_ = num_done > 0 ? 0 : failed_batches_ + 1;
  if (failed_batches_ >= k_patience) give_up(text_of(jobs.back().status), rows.ring);
}

void DeviceDecoder::give_up(const std::string& why, loader_detail::Ring& ring) {
  given_up_ = why;
  ring.ask_for_pixels();
}

/// In place of the JPEG: its row has room for both.
void DeviceDecoder::decode_here(const Rows& rows, std::uint32_t number) {
  loader_detail::Row& row = rows.ring.row(rows.slot, number);
  const MutableBytes place = rows.ring.pixels(rows.slot).subspan(row.offset, row.capacity);
  const std::vector<std::byte> jpeg(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(row.encoded.bytes));
  try {
    row.bytes = pipeline_.run(jpeg, row.key, place).bytes;
  } catch (const Error&) {
    std::copy(jpeg.begin(), jpeg.end(), place.begin());  // the next call tries again
    throw;
  }
  row.encoded = {};
  ++num_after_refusal_;
}

void DeviceDecoder::resize(StreamHandle stream, DevicePointer table, DevicePointer out,
                           std::uint32_t num_images) const {
  ResizeArgs args{.decoded = reinterpret_cast<const std::uint8_t*>(decoded_->address()),
                  .rows = reinterpret_cast<const ResizeRow*>(table),
                  .table = reinterpret_cast<std::int32_t*>(table_->address()),
                  .out = reinterpret_cast<std::uint8_t*>(out),
                  .width = transform_.width,
                  .height = transform_.height,
                  .num_images = num_images};
  void* parameters[] = {&args};
  const Current current(*context_);
  const Driver& driver = context_->driver();
  const std::uint32_t grid_y = std::min(num_images, k_max_grid_y);
  const auto launch = [&](FunctionHandle kernel, std::uint32_t num_items) {
    const std::uint32_t grid_x = (num_items - 1) / (k_block_threads * k_items_a_thread) + 1;
    driver.check(
        driver.cuLaunchKernel(kernel, grid_x, grid_y, 1, k_block_threads, 1, 1, 0, stream, parameters, nullptr),
        "start a kernel");
  };
  launch(weights_kernel_, args.width + args.height);
  launch(resize_kernel_, args.width * args.height);
}

}  // namespace bale::cuda_detail
