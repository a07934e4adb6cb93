#include "bale/formats/container/streams/stream_payload.hpp"

#include <utility>

namespace bale {
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
  const KeptStream content_;
  const bool has_places_;  // false: the positions of its bytes in the file are not known
};

}  // namespace

std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places) {
  return std::make_unique<StreamPayload>(std::move(opener), payload_bytes, has_places);
}

}  // namespace bale
