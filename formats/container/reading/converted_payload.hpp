// ConvertedPayload: the payload of a shard in which some values become files by a ArrayConversion. Located fields are
// ranges of the shard's content; the others are made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bale/formats/container/reading/array_conversion.hpp"
#include "bale/formats/container/streams/cached_stream.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

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
