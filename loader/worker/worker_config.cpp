#include "bale/loader/worker/worker_config.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

#include "bale/formats/base/error.hpp"
#include "bale/loader/options/loader_table.hpp"
#include "bale/loader/transform/transform.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale::loader_detail {
namespace {

// What is sent of each value, in the same order for both directions.

/// What a Transform has in addition to what follows from its list.
template <typename AnyTransform, typename Visit>
void for_form(AnyTransform& transform, const Visit& visit) {
  visit(transform.dtype);
  visit(transform.layout);
  visit(transform.normalize);
  visit(transform.mean);
  visit(transform.stddev);
}

template <typename AnyField, typename Visit>
void for_field(AnyField& field, const Visit& visit) {
  visit(field.source);
  visit(field.kind);
  visit(field.optional);
  visit(field.type);
  visit(field.shape);
  visit(field.members);
  visit(field.fill);
  visit(field.box_format);
  visit(field.stored_format);
  visit(field.without);
  visit(field.view);
}

template <typename AnyConfig, typename Visit>
void for_config(AnyConfig& config, const Visit& visit) {
  for_options(config.options, [&visit](const LoaderRow&, auto& value) { visit(value); });
  visit(config.options.transform);
  visit(config.options.further_views);
  visit(config.options.source_transforms);
  visit(config.options.fields);
  visit(config.field_rooms);
  visit(config.may_have_seek_points);
  visit(config.num_samples);
  visit(config.shards);
  visit(config.digests);
  visit(config.layers);
  visit(config.layers_of);
}

class ConfigWriter {
 public:
  explicit ConfigWriter(std::vector<std::byte>& out) : out_(out) {}

  template <typename Value>
  requires std::is_trivially_copyable_v<Value>
  void operator()(const Value& value) const { put(std::as_bytes(std::span(&value, 1))); }
  void operator()(const std::string& text) const {
    (*this)(std::uint64_t{text.size()});
    put(as_bytes(text));
  }
  template <typename Value>
  void operator()(const std::vector<Value>& values) const {
    (*this)(std::uint64_t{values.size()});
    for (const Value& value : values) (*this)(value);
  }
  template <typename Value>
  void operator()(const std::optional<std::vector<Value>>& values) const {
    (*this)(values.has_value());
    if (values) (*this)(*values);
  }
  void operator()(const Transform& transform) const {
    (*this)(transform.list->json);
    (*this)(transform.pass_order);
    (*this)(transform.mode);
    (*this)(transform.shape);
    for_form(transform, *this);
  }
  void operator()(const Field& field) const { for_field(field, *this); }

 private:
  void put(Bytes bytes) const {
    out_.resize(out_.size() + bytes.size());
    std::copy(bytes.begin(), bytes.end(), out_.end() - static_cast<std::ptrdiff_t>(bytes.size()));
  }
  std::vector<std::byte>& out_;
};

class ConfigReader {
 public:
  explicit ConfigReader(Bytes& rest) : rest_(rest) {}

  template <typename Value>
  requires std::is_trivially_copyable_v<Value>
  void operator()(Value& value) const { value = load_at<Value>(take(sizeof value).data()); }
  void operator()(std::string& text) const { text = as_text(take(read<std::uint64_t>())); }
  template <typename Value>
  void operator()(std::vector<Value>& values) const {
    for (auto left = read<std::uint64_t>(); left > 0; --left) (*this)(values.emplace_back());
  }
  template <typename Value>
  void operator()(std::optional<std::vector<Value>>& values) const {
    if (read<bool>()) (*this)(values.emplace());
  }
  void operator()(Transform& transform) const {
    const auto list = read<std::string>();
    const auto pass_order = read<PassOrder>();
    const auto mode = read<PixelMode>();
    transform = json_transform(list, PixelLayout::nhwc, pass_order, mode, read<Transform::Shape>());
    for_form(transform, *this);
  }
  void operator()(Field& field) const { for_field(field, *this); }

 private:
  template <typename Value>
  Value read() const {
    Value value{};
    (*this)(value);
    return value;
  }
  Bytes take(std::uint64_t size) const {
    if (size > rest_.size()) throw Error(ErrorCode::damaged, "the worker's configuration is cut short");
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  Bytes& rest_;
};

}  // namespace

std::vector<std::byte> pack_config(const WorkerConfig& config) {
  std::vector<std::byte> out;
  for_config(config, ConfigWriter(out));
  return out;
}

WorkerConfig unpack_config(Bytes bytes) {
  WorkerConfig config;
  for_config(config, ConfigReader(bytes));
  return config;
}

}  // namespace bale::loader_detail
