#include "bale/formats/container/streams/cached_stream.hpp"

#include <pthread.h>
#include <sys/statvfs.h>

#include <limits>
#include <utility>

#include "bale/formats/base/options/option_values.hpp"

namespace bale {
namespace {

/// Both caches. Never destroyed: threads may still read while the process ends.
struct Caches {
  SharedCache<Frame> frames;
  SharedCache<Stream> spills;
};

Caches& caches() {
  static Caches* const made = [] {
    static auto* const both = new Caches;
    ::pthread_atfork([] { both->frames.lock(), both->spills.lock(); },
                     [] { both->spills.unlock(), both->frames.unlock(); },
                     [] { both->spills.unlock(), both->frames.unlock(); });
    return both;
  }();
  return *made;
}

// At load, before there are threads: fork() may come while another thread makes them.
[[maybe_unused]] const Caches& made_at_load = caches();

}  // namespace

SharedCache<Frame>& frame_cache() { return caches().frames; }

SharedCache<Stream>& spill_cache() { return caches().spills; }

std::uint64_t spill_cache_limit(const std::string& directory) {
  if (const auto limit = env_bytes("BALE_SPILL_BYTES")) return *limit;
  struct statvfs info {};
  if (::statvfs(directory.c_str(), &info) != 0) return std::numeric_limits<std::uint64_t>::max();
  return (std::uint64_t{info.f_bavail} * info.f_frsize + spill_cache().bytes()) / 2;
}

CachedStream::~CachedStream() { spill_cache().erase(owner_); }

std::shared_ptr<const Stream> CachedStream::get() const {
  const std::lock_guard lock(mutex_);
  if (damage_) throw Error(*damage_);
  if (in_memory_) return in_memory_;
  if (auto kept = spill_cache().find({owner_, 0})) return kept;
  try {
    std::shared_ptr<const Stream> opened = opener_();
    const std::uint64_t bytes = opened->spilled_bytes();
    if (bytes == 0) {
      in_memory_ = opened;
    } else {
      spill_cache().insert({owner_, 0}, opened, bytes, spill_cache_limit(temporary_directory()));
    }
    return opened;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::damaged) damage_ = error;  // a lack of space or descriptors may be temporary
    throw;
  }
}

void CachedStream::note_read(const Stream& from, std::uint64_t bytes) const {
  if (from.spilled_bytes() == 0) return;
  if (read_bytes_.fetch_add(bytes) + bytes < payload_bytes_ || was_done_.exchange(true)) return;
  spill_cache().erase(owner_);
}

std::uint64_t payload_bytes_of(const ShardIndex& index) {
  std::uint64_t bytes = 0;
  for (const FieldInfo& field : index.fields()) bytes += field.stored_bytes;
  return bytes;
}

namespace {

class StreamPayload : public Payload {
 public:
  StreamPayload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places)
      : content_(std::move(opener), payload_bytes), has_places_(has_places) {}

  void read(std::uint64_t, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    const std::shared_ptr<const Stream> from = content_.get();
    from->read_exact(extent.offset, out);
    content_.note_read(*from, out.size());
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent& extent) const override {
    if (!has_places_) return std::nullopt;
    return content_.get()->locate(extent.offset, extent.length);
  }
  void will_need(const FileRange& range) const override {
    if (has_places_) content_.get()->will_need(range);
  }

 private:
  const CachedStream content_;
  const bool has_places_;  // false: the positions of its bytes in the file are not known
};

}  // namespace

std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places) {
  return std::make_unique<StreamPayload>(std::move(opener), payload_bytes, has_places);
}

}  // namespace bale
