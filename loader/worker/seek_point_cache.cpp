#include "bale/loader/worker/seek_point_cache.hpp"

#include <cstring>

#include "bale/formats/base/math/rounding.hpp"

namespace bale::loader_detail {
namespace {

// The first word counts the bytes of all records. One word per sample follows.
constexpr std::uint64_t k_word_bytes = sizeof(std::uint64_t);
// Values of a sample's word that are not the offset of its record.
constexpr std::uint64_t k_not_tried = 0;
constexpr std::uint64_t k_none = 1;
// Offsets of records are multiples of it. The first offset is k_step itself.
constexpr std::uint64_t k_step = 8;

std::uint64_t table_bytes(std::uint64_t num_samples) { return (num_samples + 1) * k_word_bytes; }

}  // namespace

SeekPointCache::SeekPointCache(MutableBytes memory, std::uint64_t num_samples) {
  if (memory.size() < bytes_for(num_samples, 1)) return;
  memory_ = memory.data();
  num_samples_ = num_samples;
  records_ = memory.subspan(table_bytes(num_samples));
}

std::uint64_t SeekPointCache::bytes_for(std::uint64_t num_samples, std::uint64_t record_bytes) {
  return record_bytes == 0 ? 0 : table_bytes(num_samples) + k_step + record_bytes;
}

std::atomic<std::uint64_t>& SeekPointCache::word(std::uint64_t number) const {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + number * k_word_bytes);
}

Bytes SeekPointCache::record(std::uint64_t sample) const {
  if (sample >= num_samples_) return {};
  const std::uint64_t place = word(1 + sample).load(std::memory_order_acquire);
  if (place < k_step || place > records_.size() - k_word_bytes) return {};
  const Bytes rest = records_.subspan(place + k_word_bytes);
  const auto length = load_at<std::uint64_t>(records_.data() + place);
  return length <= rest.size() ? rest.first(length) : Bytes{};
}

bool SeekPointCache::wants(std::uint64_t sample) const {
  return sample < num_samples_ && word(1 + sample).load(std::memory_order_relaxed) == k_not_tried &&
         word(0).load(std::memory_order_relaxed) < records_.size();
}

void SeekPointCache::keep(std::uint64_t sample, Bytes record) const {
  if (sample >= num_samples_) return;
  if (record.empty()) {
    word(1 + sample).store(k_none, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t needed = round_up(k_word_bytes + record.size(), k_step);
  const std::uint64_t place = k_step + word(0).fetch_add(needed);
  if (place + needed > records_.size()) return;  // full: wants() is false from now on
  std::byte* const to = memory_ + table_bytes(num_samples_) + place;
  const std::uint64_t length = record.size();
  std::memcpy(to, &length, sizeof length);
  std::memcpy(to + sizeof length, record.data(), record.size());
  word(1 + sample).store(place, std::memory_order_release);
}

}  // namespace bale::loader_detail
