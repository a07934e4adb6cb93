#include "bale/formats/container/streams/kept_stream.hpp"

#include "bale/formats/container/streams/kept.hpp"

namespace bale {

KeptStream::~KeptStream() { kept_spills().erase(owner_); }

std::shared_ptr<const Stream> KeptStream::get() const {
  const std::lock_guard lock(mutex_);
  if (damage_) throw Error(*damage_);
  if (in_memory_) return in_memory_;
  if (auto kept = kept_spills().find({owner_, 0})) return kept;
  try {
    std::shared_ptr<const Stream> opened = opener_();
    const std::uint64_t bytes = opened->spilled_bytes();
    if (bytes == 0) {
      in_memory_ = opened;
    } else {
      kept_spills().insert({owner_, 0}, opened, bytes, kept_spill_limit(temporary_directory()));
    }
    return opened;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::damaged) damage_ = error;  // a lack of space or descriptors may be temporary
    throw;
  }
}

void KeptStream::note_read(const Stream& from, std::uint64_t bytes) const {
  if (from.spilled_bytes() == 0) return;
  if (read_bytes_.fetch_add(bytes) + bytes < payload_bytes_ || was_done_.exchange(true)) return;
  kept_spills().erase(owner_);
}

std::uint64_t payload_bytes_of(const ShardIndex& index) {
  std::uint64_t bytes = 0;
  for (const FieldInfo& field : index.fields()) bytes += field.stored_bytes;
  return bytes;
}

}  // namespace bale
