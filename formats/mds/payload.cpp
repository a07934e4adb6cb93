#include "bale/formats/mds/payload.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "bale/formats/authoring/file_payload.hpp"
#include "bale/formats/authoring/kept_stream.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/mds/compression.hpp"
#include "bale/formats/mds/header.hpp"
#include "bale/formats/mds/value.hpp"

namespace bale::mds {
namespace {

/// Located fields are ranges of the content. The others have a header that the content does not have. The columns that
/// say how to make it are read when the first of them is.
class ValuePayload final : public Payload {
 public:
  ValuePayload(const std::string& path, bool compressed, const ShardIndex& index)
      : path_(path),
        compressed_(compressed),
        index_(index),
        content_([path, compressed] { return open_content(path, compressed); }, payload_bytes_of(index)) {
    if (!compressed_) content_.get();
  }

  void read(std::uint64_t, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    const std::shared_ptr<const Stream> from = content_.get();
    if (index_.fields()[field].located) {
      from->read_exact(extent.offset, out);
    } else {
      make(*from, index_.fields()[field], extent, out);
    }
    content_.note_read(*from, out.size());
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t field, const Extent& extent) const override {
    if (compressed_) return std::nullopt;
    if (index_.fields()[field].located) return FileRange{extent.offset, extent.length};
    // The header that is made takes about as many bytes as what it replaces, or more.
    const std::uint64_t rest = index_.shard_bytes() - std::min(index_.shard_bytes(), extent.offset);
    return FileRange{extent.offset, std::min<std::uint64_t>(extent.length + k_value_head_bytes, rest)};
  }

  void will_need(const FileRange& range) const override {
    if (!compressed_) content_.get()->will_need(range);
  }

 private:
  void make(const Stream& from, const FieldInfo& info, const Extent& extent, MutableBytes out) const {
    std::call_once(once_, [&] { columns_ = read_columns(from, path_); });
    std::vector<std::byte> front(k_value_head_bytes);
    front.resize(from.read_some(extent.offset, front));
    for (const Column& column : columns_) {
      const auto delivery = delivery_of(column, front);
      if (!delivery || field_of(column, delivery->extension) != info.name) continue;
      if (delivery->head.size() + delivery->tail_bytes != out.size()) break;
      const Bytes head = as_bytes(delivery->head);
      std::copy(head.begin(), head.end(), out.begin());
      return from.read_exact(extent.offset + delivery->skip, out.subspan(head.size()));
    }
    throw Error(ErrorCode::damaged, "the shard says something else than its index",
                {.path = path_, .offset = extent.offset});
  }

  const std::string path_;
  const bool compressed_;
  const ShardIndex& index_;
  const KeptStream content_;
  mutable std::once_flag once_;
  mutable std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const bool compressed = is_compressed(path);
  const auto is_located = [](const FieldInfo& field) { return field.located; };
  const bool plain = std::all_of(index.fields().begin(), index.fields().end(), is_located);
  if (plain && !compressed) return std::make_unique<FilePayload>(path);
  return std::make_unique<ValuePayload>(path, compressed, index);
}

}  // namespace bale::mds
