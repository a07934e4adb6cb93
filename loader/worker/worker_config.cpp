#include "bale/loader/worker/worker_config.hpp"

#include <cstring>
#include <memory>
#include <type_traits>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/list/json.hpp"

namespace bale::loader_detail {
namespace {

void put(std::vector<std::byte>& out, const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  out.insert(out.end(), bytes, bytes + size);
}

template <typename Value>
void put_value(std::vector<std::byte>& out, const Value& value) {
  put(out, &value, sizeof value);
}

void put_text(std::vector<std::byte>& out, const std::string& text) {
  put_value(out, std::uint64_t{text.size()});
  put(out, text.data(), text.size());
}

/// Calls visit(member) for every member of a Transform except its list.
template <typename Transform, typename Visit>
void for_members(Transform& transform, const Visit& visit) {
  visit(transform.kind);
  visit(transform.width);
  visit(transform.height);
  visit(transform.filter);
  visit(transform.pass_order);
  visit(transform.resize_short);
  visit(transform.scale);
  visit(transform.ratio);
  visit(transform.flip_probability);
  visit(transform.jitter);
  visit(transform.gray_probability);
  visit(transform.dtype);
  visit(transform.layout);
  visit(transform.normalize);
  visit(transform.mean);
  visit(transform.stddev);
}

void put_transform(std::vector<std::byte>& out, const Transform& transform) {
  for_members(transform, [&out](const auto& member) { put_value(out, member); });
  put_text(out, transform.list ? transforms_json(*transform.list) : std::string());
}

class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

  Bytes take(std::uint64_t size) {
    if (size > rest_.size()) throw Error(ErrorCode::damaged, "the worker's configuration is cut short");
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  template <typename Value>
  Value value() {
    return load_at<Value>(take(sizeof(Value)).data());
  }
  std::string text() { return std::string(as_text(take(value<std::uint64_t>()))); }

 private:
  Bytes rest_;
};

Transform take_transform(Reader& reader) {
  Transform transform;
  for_members(transform,
              [&reader](auto& member) { member = reader.value<std::remove_reference_t<decltype(member)>>(); });
  const std::string list = reader.text();
  if (!list.empty()) transform.list = std::make_shared<const TransformList>(parse_transforms(list));
  return transform;
}

}  // namespace

std::vector<std::byte> pack_config(const WorkerConfig& config) {
  std::vector<std::byte> out;
  put_transform(out, config.transform);
  put_value(out, std::uint64_t{config.further_views.size()});
  for (const Transform& view : config.further_views) put_transform(out, view);
  put_value(out, config.seed);
  put_value(out, config.max_pixels);
  put_value(out, config.verify_checksums);
  put_value(out, config.direct_io);
  put_value(out, config.num_samples);
  put_text(out, config.field);
  put_text(out, config.directory);
  put_value(out, std::uint64_t{config.shards.size()});
  for (const std::string& shard : config.shards) put_text(out, shard);
  return out;
}

WorkerConfig unpack_config(Bytes bytes) {
  Reader reader(bytes);
  WorkerConfig config;
  config.transform = take_transform(reader);
  const auto num_further_views = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_further_views; ++i) config.further_views.push_back(take_transform(reader));
  config.seed = reader.value<std::uint64_t>();
  config.max_pixels = reader.value<std::uint64_t>();
  config.verify_checksums = reader.value<bool>();
  config.direct_io = reader.value<bool>();
  config.num_samples = reader.value<std::uint64_t>();
  config.field = reader.text();
  config.directory = reader.text();
  const auto num_shards = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_shards; ++i) config.shards.push_back(reader.text());
  return config;
}

}  // namespace bale::loader_detail
