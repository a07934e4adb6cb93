// StreamPayload: the payload of a shard whose bytes are read through a Stream.
#pragma once

#include <memory>

#include "bale/formats/container/streams/kept_stream.hpp"
#include "bale/formats/shard/format.hpp"

namespace bale {

/// The stream is opened at the first read, because a caller that needs only keys and labels does not need it, and kept
/// as KeptStream says. `has_places`: whether the stream knows the positions of its bytes in the file.
std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places);

}  // namespace bale
