#include "bale/formats/container/reading/converted_payload.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/codec/array_header.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/names/known_names.hpp"

namespace bale {
namespace {

constexpr std::pair<std::string_view, std::string_view> k_types[] = {
    {"uint8", "|u1"}, {"int8", "|i1"},    {"uint16", "<u2"}, {"int16", "<i2"}, {"float16", "<f2"}, {"uint32", "<u4"},
    {"int32", "<i4"}, {"float32", "<f4"}, {"uint64", "<u8"}, {"int64", "<i8"}, {"float64", "<f8"}, {"bool", "|b1"}};

constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 32;

/// Modes of Pillow and what a pixel consists of. A mode that is not here has no whole number of bytes per pixel, or is
/// rare.
struct Mode {
  std::string_view name;
  std::string_view type;
  std::uint64_t channels;
};
constexpr Mode k_modes[] = {{"L", "|u1", 1},    {"P", "|u1", 1},   {"RGB", "|u1", 3},  {"YCbCr", "|u1", 3},
                            {"HSV", "|u1", 3},  {"LAB", "|u1", 3}, {"RGBA", "|u1", 4}, {"RGBX", "|u1", 4},
                            {"CMYK", "|u1", 4}, {"LA", "|u1", 2},  {"I", "<i4", 1},    {"F", "<f4", 1},
                            {"I;16", "<u2", 1}};

}  // namespace

std::string number_type(std::string_view name) {
  for (const auto& [known, type] : k_types) {
    if (known == name) return std::string(type);
  }
  return {};
}

std::uint32_t type_bytes(std::string_view type) { return static_cast<std::uint32_t>(type.back() - '0'); }

std::optional<ArrayConversion> array_delivery(std::string_view type, const std::vector<std::uint64_t>& shape,
                                              std::uint64_t skip) {
  std::uint64_t bytes = type_bytes(type);
  for (const std::uint64_t side : shape) {
    if (side >= k_max_bytes || bytes * side >= k_max_bytes) return std::nullopt;
    bytes *= side;
  }
  return ArrayConversion{.extension = std::string(k_array_field),
                         .head = array_header_text(type, shape),
                         .skip = skip,
                         .tail_bytes = bytes};
}

std::optional<ArrayConversion> pillow_delivery(Bytes front, bool is_image) {
  constexpr std::size_t k_sizes = 12;
  if (front.size() < k_sizes) return std::nullopt;
  const auto width = load_at<std::uint32_t>(front.data());
  const auto height = load_at<std::uint32_t>(front.data() + 4);
  const auto mode_bytes = load_at<std::uint32_t>(front.data() + 8);
  if (mode_bytes > front.size() - k_sizes) return std::nullopt;
  const std::string_view name = as_text(front.subspan(k_sizes, mode_bytes));
  for (const Mode& mode : k_modes) {
    if (mode.name != name) continue;
    if (is_image && mode.channels == 3 && name != "RGB") return std::nullopt;  // loaders would take it for RGB
    std::vector<std::uint64_t> shape{height, width};
    if (mode.channels > 1) shape.push_back(mode.channels);
    auto delivery = array_delivery(mode.type, shape, k_sizes + mode_bytes);
    if (delivery && is_image && (name == "L" || name == "P")) {
      delivery->extension = "pgm";
      delivery->head = fmt::format("P5\n{} {}\n255\n", width, height);
    }
    return delivery;
  }
  return std::nullopt;
}

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
