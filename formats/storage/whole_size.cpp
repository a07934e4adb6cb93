#include "bale/formats/storage/whole_size.hpp"

#include <utility>

#include "bale/formats/storage/retry.hpp"

namespace bale {

/// RFC 9112, 7.1: the last chunk has no bytes.
bool has_marked_end(const HttpResponse& response) {
  return response.status == 200 && response.header("transfer-encoding").ends_with("chunked");
}

FileVersion measured_version(const Location& location) {
  for (Retry retry;;) {
    HttpRequest request = location.get({});
    retry.set_limits(request);
    request.total_timeout = {};
    request.urgent = true;
    FileVersion version{.has_ranges = false};
    request.on_body = [&version](const HttpResponse& head, Bytes part) {
      if (version.size == 0) version.etag = validator_of(head);
      version.size += part.size();
      return true;
    };
    HttpResult result = HttpClient::instance().carry_out(std::move(request));
    auto* const response = std::get_if<HttpResponse>(&result);
    if (response != nullptr && response->status == 200) return version;
    retry.wait_after(response != nullptr ? location.error_of(*response) : std::get<Error>(result), response);
  }
}

}  // namespace bale
