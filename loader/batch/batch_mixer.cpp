// Compiled without floating-point contraction, so that mixed values are the same on every CPU.
#include "bale/loader/batch/batch_mixer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include "bale/formats/base/codec/half.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/loader/transform/pixels/convert.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::size_t k_stripe_bytes = std::size_t{64} << 10;     // a stripe and its partner stay in a core's cache
constexpr std::size_t k_bytes_per_thread = std::size_t{8} << 20;  // so that starting a thread costs little
constexpr std::uint32_t k_max_threads = 4;                        // more do not read memory faster

std::uint32_t threads_for(std::size_t bytes) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(bytes / k_bytes_per_thread, 1, std::min<std::size_t>(cores, k_max_threads)));
}

std::uint32_t partner_of(const Batch& batch, std::uint32_t row) {
  const auto num_rows = static_cast<std::uint32_t>(batch.size());
  if (batch.image(row).empty()) return row;
  for (std::uint32_t back = 1; back < num_rows; ++back) {
    const std::uint32_t other = (row + num_rows - back) % num_rows;
    if (!batch.image(other).empty()) return other;
  }
  return row;
}

}  // namespace

BatchMixer::BatchMixer(const LoaderOptions& options, std::uint32_t num_slots) : mix_(options.mix) {
  if (!active()) return;
  transform_ = options.transform;
  seed_ = *options.augment_seed;
  batch_size_ = options.batch_size;
  is_planar_ = transform_.layout == PixelLayout::nchw;
  num_lines_ = is_planar_ ? transform_.channels() * transform_.height : transform_.height;
  values_per_line_ = is_planar_ ? transform_.width : transform_.channels() * transform_.width;
  bytes_per_line_ = values_per_line_ * dtype_bytes(transform_.dtype);
  lines_per_stripe_ =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(k_stripe_bytes / bytes_per_line_, 1, num_lines_));
  partner_labels_.resize(std::size_t{num_slots} * batch_size_);
  shares_.resize(std::size_t{num_slots} * batch_size_);
  partners_.resize(std::size_t{num_slots} * batch_size_);
  rows_.resize(batch_size_);
  kept_.resize(k_max_threads * lines_per_stripe_ * bytes_per_line_);
  if (transform_.dtype != DType::float32) fill_sixteen_bits();
}

/// A value of 16 bits that only one pixel value becomes stands for that pixel's float32 value. Zero stands for itself:
/// it is what is outside an image.
void BatchMixer::fill_sixteen_bits() {
  const bool is_bfloat16 = transform_.dtype == DType::bfloat16;
  Transform exact = transform_;
  exact.dtype = DType::float32;
  const std::vector<std::byte> converted = transform_detail::conversion_table(exact);
  for (std::size_t channel = 0; channel < transform_.channels(); ++channel) {
    std::vector<float>& values = sixteen_bits_[channel];
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      values.push_back(is_bfloat16 ? from_bfloat16(half) : from_float16(half));
    }
    std::array<float, 256> floats{};
    std::memcpy(floats.data(), converted.data() + channel * sizeof floats, sizeof floats);
    std::array<std::uint16_t, 256> halves{};
    std::transform(floats.begin(), floats.end(), halves.begin(),
                   [&](float value) { return is_bfloat16 ? to_bfloat16(value) : to_float16(value); });
    for (std::size_t value = 0; value < 256; ++value) {
      const bool is_zero = (halves[value] & 0x7FFF) == 0;
      if (!is_zero && std::count(halves.begin(), halves.end(), halves[value]) == 1)
        values[halves[value]] = floats[value];
    }
  }
}

/// Sets rows_, partner labels and shares. Returns the number of rows.
std::uint32_t BatchMixer::plan_rows(const Batch& batch, std::uint32_t slot, const MixDraw& draw) noexcept {
  const auto num_rows = static_cast<std::uint32_t>(batch.size());
  const std::span<const std::int64_t> labels = batch.labels();
  for (std::uint32_t i = 0; i < num_rows; ++i) {
    rows_[i] = mix_of_row(batch, draw, i);
    const std::size_t at = std::size_t{slot} * batch_size_ + i;
    partner_labels_[at] = labels[rows_[i].partner];
    shares_[at] = rows_[i].mixes ? static_cast<float>(draw.share) : 1;
    partners_[at] = rows_[i].partner;
  }
  return num_rows;
}

void BatchMixer::mix(const Batch& batch, std::uint32_t slot, MutableBytes pixels) noexcept {
  if (!active()) return;
  const MixDraw draw = draw_mix_of(mix_, batch, seed_, transform_);
  const std::uint32_t num_rows = plan_rows(batch, slot, draw);
  std::fill(rows_.begin() + num_rows, rows_.end(), RowMix{});
  if (std::none_of(rows_.begin(), rows_.end(), [](const RowMix& row) { return row.mixes; })) return;

  const std::uint32_t num_threads = std::min(threads_for(num_rows * transform_.image_bytes()), num_lines_);
  const auto run = [&](std::uint32_t number) {
    const Lines lines{.first = static_cast<std::uint32_t>(std::uint64_t{num_lines_} * number / num_threads),
                      .end = static_cast<std::uint32_t>(std::uint64_t{num_lines_} * (number + 1) / num_threads)};
    mix_lines(pixels, draw, lines, kept_.data() + number * lines_per_stripe_ * bytes_per_line_);
  };
  const UnboundThread unbound;
  std::array<std::thread, k_max_threads> threads;
  for (std::uint32_t number = 1; number < num_threads; ++number) {
    try {
      threads[number] = std::thread(run, number);
    } catch (const std::exception&) {  // no more threads, or no memory for one
      run(number);
    }
  }
  run(0);
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

/// Goes from the last row to the first, so that the row before a row is not mixed yet. Only the last image is needed
/// after it was mixed: by the first one.
void BatchMixer::mix_lines(MutableBytes pixels, const MixDraw& draw, Lines lines, std::byte* kept) const noexcept {
  const std::size_t image_bytes = transform_.image_bytes();
  for (Lines stripe{.first = lines.first}; stripe.first < lines.end; stripe.first = stripe.end) {
    stripe.end = std::min(stripe.first + lines_per_stripe_, lines.end);
    const auto stripe_of = [&](std::size_t row) {
      return pixels.data() + row * image_bytes + stripe.first * bytes_per_line_;
    };
    bool has_kept = false;
    for (std::size_t row = rows_.size(); row-- > 0;) {
      if (!rows_[row].mixes) continue;
      std::byte* const own = stripe_of(row);
      if (!has_kept) std::memcpy(kept, own, (stripe.end - stripe.first) * bytes_per_line_);
      has_kept = true;
      const std::byte* const other = rows_[row].partner > row ? kept : stripe_of(rows_[row].partner);
      draw.pastes ? paste(own, other, draw, stripe) : mix_stripe(own, other, draw, stripe);
    }
  }
}

void BatchMixer::mix_stripe(std::byte* own, const std::byte* other, const MixDraw& draw, Lines stripe) const noexcept {
  const auto share = static_cast<float>(draw.share);
  const auto rest = static_cast<float>(1 - draw.share);
  const std::size_t num_values = std::size_t{stripe.end - stripe.first} * values_per_line_;
  if (transform_.dtype == DType::float32) {
    auto* const a = reinterpret_cast<float*>(own);
    const auto* const b = reinterpret_cast<const float*>(other);
    for (std::size_t i = 0; i < num_values; ++i) a[i] = share * a[i] + rest * b[i];
    return;
  }
  const auto mix_halves = [&](const auto& rounded) {
    const std::size_t step = is_planar_ ? 1 : transform_.channels();
    for (std::uint32_t line = stripe.first; line < stripe.end; ++line) {
      const std::size_t at = (line - stripe.first) * bytes_per_line_;
      for (std::size_t first = 0; first < step; ++first) {
        const float* const values = sixteen_bits_[is_planar_ ? line / transform_.height : first].data();
        auto* const a = reinterpret_cast<std::uint16_t*>(own + at);
        const auto* const b = reinterpret_cast<const std::uint16_t*>(other + at);
        for (std::size_t i = first; i < values_per_line_; i += step) {
          a[i] = rounded(share * values[a[i]] + rest * values[b[i]]);
        }
      }
    }
  };
  if (transform_.dtype == DType::float16) return mix_halves(to_float16);
  mix_halves(to_bfloat16);
}

void BatchMixer::paste(std::byte* own, const std::byte* other, const MixDraw& draw, Lines stripe) const noexcept {
  const std::size_t bytes_per_column = bytes_per_line_ / transform_.width;
  const std::size_t begin = draw.left * bytes_per_column;
  const std::size_t size = (draw.right - draw.left) * bytes_per_column;
  for (std::uint32_t line = stripe.first; line < stripe.end; ++line) {
    const std::uint32_t y = line % transform_.height;
    if (y < draw.top || y >= draw.bottom) continue;
    const std::size_t at = (line - stripe.first) * bytes_per_line_ + begin;
    std::memcpy(own + at, other + at, size);
  }
}

std::span<const std::int64_t> BatchMixer::partner_labels(std::uint32_t slot, std::size_t num_rows) const {
  if (!active()) return {};
  return std::span(partner_labels_).subspan(std::size_t{slot} * batch_size_, num_rows);
}

std::span<const float> BatchMixer::shares(std::uint32_t slot, std::size_t num_rows) const {
  if (!active()) return {};
  return std::span(shares_).subspan(std::size_t{slot} * batch_size_, num_rows);
}

std::span<const std::uint32_t> BatchMixer::partners(std::uint32_t slot, std::size_t num_rows) const {
  if (!active()) return {};
  return std::span(partners_).subspan(std::size_t{slot} * batch_size_, num_rows);
}

MixDraw draw_mix_of(const MixOptions& options, const Batch& batch, std::uint64_t seed, const Transform& transform) {
  const DrawKey first = batch.draw_key(0);
  const MixKey key{.seed = seed, .epoch = first.epoch, .first_sample = batch.samples()[0], .first_copy = first.copy};
  return draw_mix(options, key, transform.width, transform.height);
}

RowMix mix_of_row(const Batch& batch, const MixDraw& draw, std::uint32_t row) {
  const std::uint32_t partner = partner_of(batch, row);
  return {.partner = partner, .mixes = partner != row && draw.share < 1};
}

}  // namespace bale::loader_detail
