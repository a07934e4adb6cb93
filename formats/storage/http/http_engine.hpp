// HttpEngine: what carries out the requests of HttpClient to servers; internal. That of libcurl, or of no_remote.cpp in
// a build without BALE_REMOTE.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

class HttpEngine {
 public:
  virtual ~HttpEngine() = default;
  /// As those of HttpClient.
  virtual void submit(HttpRequest request, std::function<void(HttpResult)> done) = 0;
  virtual void look_for_cancelled() = 0;
};

std::unique_ptr<HttpEngine> make_http_engine();

/// The time of a header (RFC 9110, 5.6.7); negative if it is not a time.
std::time_t parse_http_time(const std::string& text);

}  // namespace bale
