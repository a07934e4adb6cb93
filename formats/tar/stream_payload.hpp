// StreamPayload: the payload of a shard whose bytes are read through a Stream.
#pragma once

#include <functional>
#include <memory>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

using StreamOpener = std::function<std::unique_ptr<Stream>()>;

/// The stream is opened at the first read, because a caller that needs only keys and labels does not need it. A stream
/// in a temporary file is one of kept_spills(). It is evicted once, when `payload_bytes` bytes have been read, and is
/// opened again at the next read. `has_places`: whether the stream knows the positions of its bytes in the file.
std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places);

}  // namespace bale::tar
