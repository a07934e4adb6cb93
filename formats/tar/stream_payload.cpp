#include "bale/formats/tar/stream_payload.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/tar/kept.hpp"

namespace bale::tar {
namespace {

class StreamPayload : public Payload {
 public:
  StreamPayload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places)
      : opener_(std::move(opener)), payload_bytes_(payload_bytes), has_places_(has_places) {}
  ~StreamPayload() override { kept_spills().erase(owner_); }

  void read(std::uint64_t, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    const std::shared_ptr<const Stream> from = stream();
    from->read_exact(extent.offset, out);
    if (from->spilled_bytes() != 0) note_read(out.size());
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent& extent) const override {
    if (!has_places_) return std::nullopt;
    return stream()->locate(extent.offset, extent.length);
  }
  void will_need(const FileRange& range) const override {
    if (has_places_) stream()->will_need(range);
  }

 private:
  std::shared_ptr<const Stream> stream() const {
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

  /// Evicts the stream when everything has been read once: most callers do not read it again. A caller that does reads
  /// in epochs, so from then on the stream is kept.
  void note_read(std::uint64_t bytes) const {
    if (read_bytes_.fetch_add(bytes) + bytes < payload_bytes_ || was_done_.exchange(true)) return;
    kept_spills().erase(owner_);
  }

  const StreamOpener opener_;
  const std::uint64_t payload_bytes_;
  const bool has_places_;  // false: the positions of its bytes in the file are not known
  const std::uint64_t owner_ = SharedCache<Stream>::new_owner();
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Stream> in_memory_;
  mutable std::optional<Error> damage_;  // kept: finding it again would cost a pass over the file per sample
  mutable std::atomic<std::uint64_t> read_bytes_{0};
  mutable std::atomic<bool> was_done_{false};
};

}  // namespace

std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places) {
  return std::make_unique<StreamPayload>(std::move(opener), payload_bytes, has_places);
}

}  // namespace bale::tar
