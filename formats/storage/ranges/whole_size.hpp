// The size of a file whose server does not tell it: the file is fetched to its end.
#pragma once

#include "bale/formats/storage/location/location.hpp"
#include "bale/formats/storage/ranges/range_body.hpp"
#include "bale/formats/storage/ranges/unsized_body.hpp"

namespace bale {

/// Whether the end of the body can be told from a connection that was cut, though the size is not known before.
bool has_marked_end(const HttpResponse& response);

/// Fetches the file into `body`, and returns its version. May take as long as the file takes to come; a server that
/// stalls or fails for longer than the time limit is a `retryable` error. Throws what UnsizedBody::require_end()
/// throws.
FileVersion measured_version(const Location& location, UnsizedBody& body);

}  // namespace bale
