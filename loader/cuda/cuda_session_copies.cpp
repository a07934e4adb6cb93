// CudaSession: what is enqueued for a batch in the copy stream.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "bale/formats/base/random.hpp"
#include "bale/loader/batch/batch_mixer.hpp"
#include "bale/loader/cuda/buffers/device_buffer_pool.hpp"
#include "bale/loader/cuda/cuda_session.hpp"
#include "bale/loader/cuda/kernels/kernel_args.hpp"
#include "bale/loader/session/session.hpp"
#include "bale/loader/transform/step.hpp"

namespace bale::cuda_detail {
namespace {

constexpr std::uint64_t k_flip_tag = 0x6465'7666'6c69'70;  // separates these draws from all others

/// A draw in [0, 1) for one delivery. For copy 0 it is the same as in versions that did not distinguish copies of a
/// sample, so that a seed keeps its meaning.
double flip_draw(const DrawKey& key) {
  if (key.copy == 0) return KeyedRandom{key.seed, key.epoch, key.sample, k_flip_tag}.uniform();
  return KeyedRandom{key.seed, key.epoch, key.sample, k_flip_tag, key.copy}.uniform();
}

/// Width and height of an image in its place of a batch, in which PadTo may have left room.
std::pair<std::uint32_t, std::uint32_t> size_in_place(const Batch& batch, const Transform& transform,
                                                      std::uint32_t row) {
  std::pair size{transform.width, transform.height};
  if (!transform.pads) return size;
  for (const Step& step : batch.steps(row)) {  // its step is the last of those that pad
    if (const auto* const pad = std::get_if<step::Pad>(&step)) {
      size = {transform.width - pad->right, transform.height - pad->bottom};
    }
  }
  return size;
}

std::shared_ptr<const loader_detail::FieldCopies> fields_of(const Batch& batch) {
  static const auto none = std::make_shared<const loader_detail::FieldCopies>();
  if (batch.num_fields() == 0) return none;
  std::vector<BatchField> fields;
  for (std::size_t field = 0; field < batch.num_fields(); ++field) fields.push_back(batch.field(field));
  return std::make_shared<const loader_detail::FieldCopies>(fields);
}

}  // namespace

/// Starts the copy of `taken_`. If that fails, `taken_` is unchanged.
void CudaSession::copy_taken() {
  const std::uint32_t block = free_blocks_.back();
  TakenBuffer images(device_->images, device_->num_held);
  TakenBuffer tables(device_->tables, device_->num_held);
  Staged staged{.batch = {.images_buffer = images.number(), .tables_buffer = tables.number()}};
  std::shared_ptr<const Event> begun;
  try {
    begun = enqueue_copies(block, staged);
    describe_taken(staged);
  } catch (...) {
    try {
      device_->copies.synchronize();  // some of the work may be running
    } catch (...) {                   // the device or its driver is gone; no copy is running
    }
    throw;
  }
  images.keep();
  tables.keep();
  free_blocks_.pop_back();
  copies_.push_back({.batch = std::move(taken_->batch),
                     .block = block,
                     .bytes = device_->tables_layout.size_bytes + staged.pixel_bytes,
                     .begun = begun,
                     .done = staged.copied});
  taken_.reset();
  staged_.push_back(std::move(staged));
}

/// To be called after the copies were enqueued: a device that decodes may find bad samples.
void CudaSession::describe_taken(Staged& staged) const {
  const Batch& batch = taken_->batch;
  const auto mask = batch.mask();
  staged.state = taken_->state;
  staged.num_bad_samples = taken_->num_bad_samples;
  staged.batch.index = batch.index();
  staged.batch.epoch = batch.epoch();
  staged.num_valid = static_cast<std::uint64_t>(std::count(mask.begin(), mask.end(), std::uint8_t{1}));
  staged.batch.samples.assign(batch.samples().begin(), batch.samples().end());
  staged.batch.fields = fields_of(batch);
}

/// Sets `staged.copied`. Returns the event before the copies if they are timed, else nullptr.
std::shared_ptr<const Event> CudaSession::enqueue_copies(std::uint32_t block, Staged& staged) {
  const Batch& batch = taken_->batch;
  std::byte* const tables = blocks_.data() + block * device_->tables_layout.size_bytes;
  const StreamHandle stream = device_->copies.handle();
  const auto timing = cuda_.timing ? Event::Timing::on : Event::Timing::off;
  const Current current(*context_);
  device_->images.wait_on(staged.batch.images_buffer, stream);
  device_->tables.wait_on(staged.batch.tables_buffer, stream);
  const auto begun = cuda_.timing ? std::make_shared<const Event>(context_, stream, timing) : nullptr;
  if (decoder_) decode_taken(block);
  fill_tables(batch, tables, staged.batch.partners);
  copy(device_->tables.address(staged.batch.tables_buffer), {tables, device_->tables_layout.size_bytes});
  copy_images(batch, block, staged);
  staged.copied = std::make_shared<const Event>(context_, stream, timing);
  return begun;
}

/// Enqueues a copy to the device.
void CudaSession::copy(DevicePointer to, Bytes from) const {
  const Driver& driver = context_->driver();
  driver.check(driver.cuMemcpyHtoDAsync_v2(to, from.data(), from.size(), device_->copies.handle()),
               "copy to the device");
}

/// Enqueues what fills the buffer of images. Sets `staged.pixel_bytes`.
void CudaSession::copy_images(const Batch& batch, std::uint32_t block, Staged& staged) const {
  const DevicePointer to = device_->images.address(staged.batch.images_buffer);
  if (!decoder_) {
    const Bytes pixels = kernels_.on_host ? converted_here(batch, block) : batch.pixels();
    copy(to, pixels);
    staged.pixel_bytes = pixels.size();
    return;
  }
  const std::uint32_t slot = loader_detail::Session::slot_of(batch);
  const loader_detail::Ring& ring = loader_.session_->ring();
  const std::size_t image_bytes = before_kernels(device_->transform).image_bytes();
  bool any_decoded = false;
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    const loader_detail::Row& row = ring.row(slot, i);
    const bool is_decoded = row.encoded.bytes > 0;  // by the device
    any_decoded = any_decoded || is_decoded;
    staged.pixel_bytes += is_decoded ? row.encoded.bytes : image_bytes;
    if (!is_decoded) copy(to + i * image_bytes, Bytes(ring.pixels(slot)).subspan(row.offset, image_bytes));
  }
  if (!any_decoded) return;
  decoder_->resize(device_->copies.handle(),
                   device_->tables.address(staged.batch.tables_buffer) + device_->tables_layout.resize, to,
                   static_cast<std::uint32_t>(batch.size()));
}

/// Has the device decode the JPEGs of `taken_`. If that throws, `taken_` is as before, but for images that were decoded
/// on the host or left out.
void CudaSession::decode_taken(std::uint32_t block) {
  const Batch& batch = taken_->batch;
  const DeviceDecoder::Rows rows{.ring = loader_.session_->ring(),
                                 .slot = loader_detail::Session::slot_of(batch),
                                 .num_rows = static_cast<std::uint32_t>(batch.size())};
  std::byte* const tables = blocks_.data() + block * device_->tables_layout.size_bytes;
  auto* const table = reinterpret_cast<ResizeRow*>(tables + device_->tables_layout.resize);
  for (const auto& bad : decoder_->decode(rows, block, device_->copies.handle(), table)) {
    loader_.session_->settle_undecodable(batch, bad.row, bad.why);
  }
  taken_->num_bad_samples = loader_.counters().bad_samples;
}

/// What the kernels make on the host of the workers' pixels.
Bytes CudaSession::converted_here(const Batch& batch, std::uint32_t block) const {
  const std::size_t image_bytes = options_.transform.image_bytes();
  std::byte* const out = host_converted_->data() + block * options_.batch_size * image_bytes;
  const std::byte* const tables = blocks_.data() + block * device_->tables_layout.size_bytes;
  const auto* const rows = reinterpret_cast<const ConvertRow*>(tables + device_->tables_layout.rows);
  kernels_.on_host->run(batch.pixels(), rows, out, static_cast<std::uint32_t>(batch.size()));
  return {out, batch.size() * image_bytes};
}

void CudaSession::fill_tables(const Batch& batch, std::byte* tables, std::vector<std::uint32_t>& partners) const {
  const BatchTables& layout = device_->tables_layout;
  const auto labels = batch.labels();
  std::memcpy(tables + layout.labels, labels.data(), labels.size_bytes());
  std::memcpy(tables + layout.mask, batch.mask().data(), batch.size());
  if (!device_->converter && !kernels_.on_host) return;

  const Transform& transform = device_->transform;
  const MixDraw mix = loader_detail::draw_mix_of(cuda_.mix, batch, *options_.augment_seed, transform);
  auto* const rows = reinterpret_cast<ConvertRow*>(tables + layout.rows);
  for (std::uint32_t i = 0; i < batch.size(); ++i) {
    ConvertRow row;
    const bool has_image = !batch.image(i).empty();
    if (has_image) {
      std::tie(row.width, row.height) = size_in_place(batch, transform, i);
      row.mirrored = flip_draw(batch.draw_key(i)) < cuda_.flip_probability ? 1 : 0;
    }
    const auto [partner, mixes] = loader_detail::mix_of_row(batch, mix, i);
    row.partner = partner;
    if (mixes && mix.pastes) {
      row.box_left = mix.left;
      row.box_top = mix.top;
      row.box_right = mix.right;
      row.box_bottom = mix.bottom;
    } else if (mixes) {
      row.share = static_cast<float>(mix.share);
      row.rest = static_cast<float>(1 - mix.share);
    }
    rows[i] = row;
    if (!layout.mixes) continue;
    reinterpret_cast<std::int64_t*>(tables + layout.partner_labels)[i] = labels[row.partner];
    reinterpret_cast<float*>(tables + layout.shares)[i] = mixes ? static_cast<float>(mix.share) : 1;
    partners.push_back(partner);
  }
}

}  // namespace bale::cuda_detail
