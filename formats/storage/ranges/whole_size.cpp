#include "bale/formats/storage/ranges/unsized_body.hpp"

#include <utility>

#include "bale/formats/storage/http/retry.hpp"

namespace bale {
namespace {

constexpr std::uint64_t k_least_bytes_per_s = 1024;  // a body that comes more slowly would never be complete

}  // namespace

/// RFC 9112, 7.1: the last chunk has no bytes.
bool has_marked_end(const HttpResponse& response) {
  return response.status == 200 && response.header("transfer-encoding").ends_with("chunked");
}

FileVersion measured_version(const RemoteUrl& location, UnsizedBody& body) {
  for (Retry retry;; body.restart()) {
    HttpRequest request = location.get({});
    retry.set_limits(request);
    request.total_timeout = {};
    request.least_bytes_per_s = k_least_bytes_per_s;
    request.urgent = true;
    FileVersion version{.has_ranges = false};
    request.on_body = [&version, &body](const HttpResponse& head, Bytes part) {
      if (body.size() == 0) version.etag = validator_of(head);
      return body.append(part);
    };
    HttpResult result = HttpClient::instance().carry_out(std::move(request));
    body.require_end(location);
    version.size = body.size();
    auto* const response = std::get_if<HttpResponse>(&result);
    if (response != nullptr && response->status == 200) return version;
    retry.wait_after(response != nullptr ? location.error_of(*response) : std::get<Error>(result), response);
  }
}

}  // namespace bale
