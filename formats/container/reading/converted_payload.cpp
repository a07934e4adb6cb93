#include "bale/formats/container/reading/converted_payload.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

class ConvertedPayload final : public Payload {
 public:
  ConvertedPayload(std::string path, const ShardIndex& index, StreamOpener opener, bool has_places, MadeFields made)
      : path_(std::move(path)),
        index_(index),
        content_(std::move(opener), payload_bytes_of(index)),
        has_places_(has_places),
        made_(std::move(made)) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    const std::shared_ptr<const Stream> from = content_.get();
    const FieldInfo& info = index_.fields()[field];
    if (info.located) {
      from->read_exact(extent.offset, out);
    } else {
      make(*from, {.sample = sample, .field = info, .offset = extent.offset, .length = out.size(), .front = {}}, out);
    }
    content_.note_read(*from, out.size());
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t field, const Extent& extent) const override {
    if (!has_places_) return std::nullopt;
    if (index_.fields()[field].located) return FileRange{extent.offset, extent.length};
    // The header that is made takes about as many bytes as what it replaces, or more.
    const std::uint64_t rest = index_.shard_bytes() - std::min(index_.shard_bytes(), extent.offset);
    return FileRange{extent.offset, std::min<std::uint64_t>(extent.length + made_.front_bytes, rest)};
  }

  void will_need(const FileRange& range) const override {
    if (has_places_) content_.get()->will_need(range);
  }

 private:
  void make(const Stream& from, StoredValue value, MutableBytes out) const {
    std::vector<std::byte> front(made_.front_bytes);
    front.resize(from.read_some(value.offset, front));
    value.front = front;
    const auto delivery = made_.delivery(from, value);
    if (!delivery || delivery->bytes() != out.size()) {
      throw Error(ErrorCode::damaged, "the shard says something else than its index",
                  {.path = path_, .offset = value.offset});
    }
    const Bytes head = as_bytes(delivery->head);
    std::copy(head.begin(), head.end(), out.begin());
    from.read_exact(value.offset + delivery->skip, out.subspan(head.size()));
  }

  const std::string path_;
  const ShardIndex& index_;
  const CachedStream content_;
  const bool has_places_;
  const MadeFields made_;
};

}  // namespace

std::unique_ptr<Payload> make_made_payload(const std::string& path, const ShardIndex& index, StreamOpener opener,
                                           bool has_places, MadeFields made) {
  return std::make_unique<ConvertedPayload>(path, index, std::move(opener), has_places, std::move(made));
}

}  // namespace bale
