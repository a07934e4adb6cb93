#include "bale/loader/worker/worker_config.hpp"

#include <type_traits>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/transform.hpp"

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

/// What a Transform has in addition to what follows from its list.
template <typename Transform, typename Visit>
void for_members(Transform& transform, const Visit& visit) {
  visit(transform.dtype);
  visit(transform.layout);
  visit(transform.normalize);
  visit(transform.mean);
  visit(transform.stddev);
}

void put_transform(std::vector<std::byte>& out, const Transform& transform) {
  put_text(out, transform.list->json);
  put_value(out, transform.pass_order);
  put_value(out, transform.mode);
  put_value(out, transform.shape);
  for_members(transform, [&out](const auto& member) { put_value(out, member); });
}

void put_field(std::vector<std::byte>& out, const Field& field, const FieldRoom& room) {
  put_text(out, field.source);
  put_value(out, field.kind);
  put_value(out, field.optional);
  put_text(out, field.type);
  put_value(out, field.shape ? std::uint64_t{field.shape->size()} : 0);
  if (field.shape) put(out, field.shape->data(), field.shape->size() * sizeof(std::uint64_t));
  put_value(out, std::uint64_t{field.members.size()});
  for (const std::string& member : field.members) put_text(out, member);
  put_value(out, field.fill);
  put_value(out, field.box_format);
  put_value(out, field.stored_format);
  put_value(out, std::uint64_t{field.without.size()});
  for (const std::string& name : field.without) put_text(out, name);
  put_value(out, field.view.value_or(0));
  put_value(out, room.is_ragged);
  put_value(out, room.bytes);
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
  const std::string list = reader.text();
  const auto pass_order = reader.value<PassOrder>();
  const auto mode = reader.value<PixelMode>();
  const auto shape = reader.value<Transform::Shape>();
  Transform transform = json_transform(list, PixelLayout::nhwc, pass_order, mode, shape);
  for_members(transform,
              [&reader](auto& member) { member = reader.value<std::remove_reference_t<decltype(member)>>(); });
  return transform;
}

void take_field(Reader& reader, WorkerConfig& config) {
  Field field;
  field.source = reader.text();
  field.kind = reader.value<FieldKind>();
  field.optional = reader.value<bool>();
  field.type = reader.text();
  field.shape.emplace();
  const auto num_sides = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_sides; ++i) field.shape->push_back(reader.value<std::uint64_t>());
  const auto num_members = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_members; ++i) field.members.push_back(reader.text());
  field.fill = reader.value<std::uint16_t>();
  field.box_format = reader.value<BoxFormat>();
  field.stored_format = reader.value<BoxFormat>();
  const auto num_names = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_names; ++i) field.without.push_back(reader.text());
  field.view = reader.value<std::uint32_t>();
  FieldRoom room;
  room.is_ragged = reader.value<bool>();
  room.bytes = reader.value<std::uint64_t>();
  config.fields.push_back(std::move(field));
  config.field_rooms.push_back(room);
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
  put_value(out, config.may_have_seek_points);
  put_value(out, config.num_samples);
  put_value(out, config.device_pixels);
  put_text(out, config.field);
  put_text(out, config.label_field);
  put_value(out, std::uint64_t{config.fields.size()});
  for (std::size_t i = 0; i < config.fields.size(); ++i) put_field(out, config.fields[i], config.field_rooms[i]);
  put_text(out, config.directory);
  put_value(out, std::uint64_t{config.shards.size()});
  for (const std::string& shard : config.shards) put_text(out, shard);
  for (const std::string& digest : config.digests) put_text(out, digest);
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
  config.may_have_seek_points = reader.value<bool>();
  config.num_samples = reader.value<std::uint64_t>();
  config.device_pixels = reader.value<std::uint64_t>();
  config.field = reader.text();
  config.label_field = reader.text();
  const auto num_fields = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_fields; ++i) take_field(reader, config);
  config.directory = reader.text();
  const auto num_shards = reader.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < num_shards; ++i) config.shards.push_back(reader.text());
  for (std::uint64_t i = 0; i < num_shards; ++i) config.digests.push_back(reader.text());
  return config;
}

}  // namespace bale::loader_detail
