#include "bale/formats/mds/payload.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "bale/formats/authoring/file_payload.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/mds/header.hpp"
#include "bale/formats/mds/value.hpp"

namespace bale::mds {
namespace {

/// Located fields are plain. The others have a header that the file does not have. The columns that say how to make it
/// are read when the first of them is.
class ValuePayload final : public FilePayload {
 public:
  ValuePayload(const std::string& path, const ShardIndex& index) : FilePayload(path), index_(index) {}

  void read(std::uint64_t sample, std::uint32_t field, const Extent& extent, MutableBytes out) const override {
    const FieldInfo& info = index_.fields()[field];
    if (info.located) return FilePayload::read(sample, field, extent, out);
    std::call_once(once_, [&] { columns_ = read_columns(file_); });
    std::vector<std::byte> front(k_value_head_bytes);
    front.resize(file_.read_some(extent.offset, front));
    for (const Column& column : columns_) {
      const auto delivery = delivery_of(column, front);
      if (!delivery || field_of(column, delivery->extension) != info.name) continue;
      if (delivery->head.size() + delivery->tail_bytes != out.size()) break;
      const Bytes head = as_bytes(delivery->head);
      std::copy(head.begin(), head.end(), out.begin());
      return file_.read_exact(extent.offset + delivery->skip, out.subspan(head.size()));
    }
    throw Error(ErrorCode::damaged, "the shard says something else than its index",
                {.path = file_.path(), .offset = extent.offset});
  }

  std::optional<FileRange> locate(std::uint64_t, std::uint32_t field, const Extent& extent) const override {
    if (index_.fields()[field].located) return FileRange{extent.offset, extent.length};
    // The header that is made takes about as many bytes as what it replaces, or more.
    const std::uint64_t rest = index_.shard_bytes() - std::min(index_.shard_bytes(), extent.offset);
    return FileRange{extent.offset, std::min<std::uint64_t>(extent.length + k_value_head_bytes, rest)};
  }

  bool is_plain() const override { return false; }

 private:
  const ShardIndex& index_;
  mutable std::once_flag once_;
  mutable std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<Payload> open(const std::string& path, const ShardIndex& index) {
  const auto is_located = [](const FieldInfo& field) { return field.located; };
  const bool plain = std::all_of(index.fields().begin(), index.fields().end(), is_located);
  if (plain) return std::make_unique<FilePayload>(path);
  return std::make_unique<ValuePayload>(path, index);
}

}  // namespace bale::mds
