// StreamPayload: the payload of a shard whose bytes are read through a Stream.
#pragma once

#include <functional>
#include <memory>

#include "bale/formats/shard/format.hpp"
#include "bale/formats/tar/stream.hpp"

namespace bale::tar {

using StreamOpener = std::function<std::unique_ptr<Stream>()>;

/// The stream is opened with the first byte that is wanted: to inflate a shard whose keys and labels are all that is
/// asked for would be a waste. One that lies in a temporary file is one of kept_spills(), and is given up early when
/// all `payload_bytes` of the shard have been read; it is opened again when it is wanted again. `has_places`: whether
/// the stream can say where its bytes lie in the file.
std::unique_ptr<Payload> make_stream_payload(StreamOpener opener, std::uint64_t payload_bytes, bool has_places);

}  // namespace bale::tar
