#include "bale/formats/storage/location/remote_url.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/storage/http/retry.hpp"

namespace bale {

std::string environment_variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  const std::string_view given = value != nullptr ? stripped(value) : std::string_view();
  return given.empty() ? otherwise : std::string(given);
}

bool is_on(const char* name) {
  const std::string value = lower_case(environment_variable(name));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

namespace {

constexpr std::string_view k_refusal_hint = "check the credentials, and whether they may read it";

}  // namespace

RemoteUrl::RemoteUrl(std::string name) : name_(std::move(name)), shown_(without_secrets(name_)) {}

Error RemoteUrl::error_of(const HttpResponse& response) const {
  const auto status = response.status;
  if (status == 404 || status == 410) {
    return Error(ErrorCode::not_found, "no such file on the server", {.path = shown(), .hint = "check the name"});
  }
  if (status == 412 || status == 416) return changed();
  if (status == 401 || status == 403) {
    return Error(ErrorCode::io, fmt::format("the server refuses access (status {})", status),
                 {.path = shown(), .hint = std::string(k_refusal_hint)});
  }
  if (status == 408 || status == 425 || status == 429 || status >= 500) {
    return Error(ErrorCode::retryable, fmt::format("the server answers with status {}", status), {.path = shown()});
  }
  return Error(ErrorCode::io, fmt::format("the server answers with status {}", status), {.path = shown()});
}

Error RemoteUrl::changed() const {
  return Error(ErrorCode::changed, "the remote file changed during the read",
               {.path = shown(), .hint = "run it again after a minute; until then the version that was found counts"});
}

bool RemoteUrl::is_offline() const { return is_on("BALE_OFFLINE"); }

void RemoteUrl::require_online() const {
  if (!is_offline()) return;
  throw Error(ErrorCode::retryable, "the cache does not have it, and this run is offline",
              {.path = shown(), .hint = "unset BALE_OFFLINE and HF_HUB_OFFLINE, or fetch it before"});
}

HttpResponse RemoteUrl::answer_to(const std::function<HttpRequest()>& make) const {
  for (Retry retry;;) {
    HttpRequest request = make();
    retry.set_limits(request);
    HttpResult result = HttpClient::instance().carry_out(std::move(request));
    auto* const response = std::get_if<HttpResponse>(&result);
    if (response != nullptr && response->status == 200) return std::move(*response);
    retry.wait_after(response != nullptr ? error_of(*response) : std::get<Error>(result), response);
  }
}

std::string RemoteUrl::server() const { return std::string(split_url(identity()).authority); }

std::string RemoteUrl::join(std::string_view file) const { return join_path(name_, file); }

std::vector<std::string> RemoteUrl::list() const {
  throw Error(ErrorCode::unsupported, "this server has no listings",
              {.path = shown(), .hint = "name the shards, with braces if they are many: NAME-{000000..000009}"});
}

bool is_refusal(const Error& error) { return error.context().hint.starts_with(k_refusal_hint); }

HttpRequest get_request(std::string url, const GetCondition& condition) {
  HttpRequest request{.url = std::move(url)};
  if (condition.range) {
    request.headers.emplace_back("Range", fmt::format("bytes={}-{}", condition.range->offset,
                                                      condition.range->offset + condition.range->length - 1));
  }
  if (!condition.if_match.empty()) request.headers.emplace_back("If-Match", condition.if_match);
  if (!condition.if_none_match.empty()) request.headers.emplace_back("If-None-Match", condition.if_none_match);
  return request;
}

}  // namespace bale
