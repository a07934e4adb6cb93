// ConvertedPayload: the payload of a shard in which some values become files by a ArrayConversion. Located fields are
// ranges of the shard's content; the others are made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

// ArrayConversion: how a value without a file format of its own (a number, an array, a raw image) becomes one. bale
// delivers these as NumPy array files, gray images as PGM: a header, and then the value's own numbers.
//
// Pure functions; safe in any thread.

/// `head`, and then `tail_bytes` bytes of the value, which begin after its first `skip`.
struct ArrayConversion {
  std::string extension;  // of an array, or "pgm"
  std::string head;
  std::uint64_t skip = 0;
  std::uint64_t tail_bytes = 0;
  std::uint64_t bytes() const { return head.size() + tail_bytes; }
};

/// NumPy's name of the number type that is called `name` ("uint8" is "|u1"); empty if there is none. "bool" is one.
std::string number_type(std::string_view name);
/// Size in bytes of one number of a type that number_type() returned.
std::uint32_t type_bytes(std::string_view type);

/// An array of this type and shape, whose numbers begin after the first `skip` bytes of the value. nullopt if it has
/// 4 GiB or more.
std::optional<ArrayConversion> array_delivery(std::string_view type, const std::vector<std::uint64_t>& shape,
                                              std::uint64_t skip);

/// A raw image as MosaicML and LitData store what Pillow has: u32 width, height and length of the mode, the mode, the
/// bytes of Image.tobytes(). A gray image is a PGM if it `is_image`, the image of its sample. nullopt if the front is
/// malformed, or of a mode that has no whole bytes per pixel.
std::optional<ArrayConversion> pillow_delivery(Bytes front, bool is_image);

/// A value whose field is to be made.
struct StoredValue {
  std::uint64_t sample = 0;
  const FieldInfo& field;
  std::uint64_t offset = 0;  // in the content
  std::uint64_t length = 0;  // of the field
  Bytes front;               // the first bytes of the value, MadeFields::front_bytes or up to the end of the content
};

struct MadeFields {
  std::size_t front_bytes = 0;
  /// The delivery of a value; one of another length, or nullopt, is reported as `damaged`. Thread-safe.
  std::function<std::optional<ArrayConversion>(const Stream& content, const StoredValue& value)> delivery;
};

/// `path` is for messages. `has_places`: whether the content is the file. It is opened as CachedStream says. `index`
/// must outlive the payload.
std::unique_ptr<Payload> make_made_payload(const std::string& path, const ShardIndex& index, StreamOpener opener,
                                           bool has_places, MadeFields made);

}  // namespace bale
