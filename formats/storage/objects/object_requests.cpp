#include "bale/formats/storage/objects/object_requests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/aws/answers/s3_answers.hpp"
#include "bale/formats/storage/aws/sigv4.hpp"
#include "bale/formats/storage/http/retry.hpp"
#include "bale/formats/storage/location/locate.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/location/s3_account.hpp"

namespace bale {
namespace {

constexpr unsigned k_most_mangled = 4;  // requests that arrived with other bytes
constexpr long k_conflict = 409;

/// Whether the server received other bytes than were sent ("Error responses" in the API reference of S3).
bool is_mangled(const HttpResponse& response) {
  constexpr std::array<std::string_view, 3> k_codes{"BadDigest", "XAmzContentSHA256Mismatch",
                                                    "XAmzContentChecksumMismatch"};
  const std::string code = parse_s3_error(response.body).code;
  return std::find(k_codes.begin(), k_codes.end(), code) != k_codes.end();
}

bool is_success(const ObjectRequest& request, const HttpResponse& response) {
  if (response.status < 200 || response.status >= 300) return false;
  // An upload may be completed, and a copy made, with a status of success and fail afterwards: the body has the error
  // then.
  return request.method == "GET" || parse_s3_error(response.body).code.empty();
}

}  // namespace

std::string encoded_query_value(std::string_view value) { return percent_encode(value, false); }

ObjectSender::ObjectSender(const std::string& name, std::function<void()> poll)
    : location_(locate_s3(name)), name_(name), poll_(std::move(poll)) {
  const S3Location location = parse_s3_url(name);
  bucket_ = location.bucket;
  prefix_ = location.key;
  if (!prefix_.empty() && !prefix_.ends_with('/')) prefix_ += '/';
}

std::string ObjectSender::name_of(std::string_view key) const { return join_path(name_, key); }

std::string ObjectSender::copy_source_of(std::string_view key) const {
  return percent_encode(fmt::format("/{}/{}{}", bucket_, prefix_, key), true);
}

void ObjectSender::poll() const {
  if (poll_) poll_();
  poll_remote_wait();
}

HttpRequest ObjectSender::signed_request(const ObjectRequest& request) const {
  S3Account& account = S3Account::of_process();
  const S3Settings settings = account.settings(bucket_);
  HttpRequest http{.method = request.method,
                   .url = object_url(settings, {bucket_, request.of_bucket ? std::string() : prefix_ + request.key}),
                   .headers = request.headers,
                   .body = request.body ? request.body() : std::string(),
                   .follow_redirects = false,
                   .certificates = settings.certificates};
  if (!request.query.empty()) http.url += "?" + request.query;
  if (request.body) http.headers.emplace_back("Content-MD5", content_md5(http.body));
  if (settings.requester_pays) http.headers.emplace_back("x-amz-request-payer", "requester");
  if (const std::optional<Credentials> credentials = account.credentials().get()) {
    const std::string hash = http.body.empty() ? std::string(k_empty_payload) : sha256_hex(http.body);
    sign_request(http, *credentials, {.region = settings.region, .time = account.now()}, hash);
  }
  return http;
}

HttpResponse ObjectSender::send(const ObjectRequest& request, std::initializer_list<long> others) const {
  std::optional<RemoteWaitPoll> guard;
  if (poll_) guard.emplace(poll_);
  poll();
  unsigned num_mangled = 0;
  for (Retry retry;;) {
    HttpRequest http = signed_request(request);
    retry.set_limits(http, http.body.size());
    HttpResult result = HttpClient::instance().carry_out(std::move(http));
    auto* const response = std::get_if<HttpResponse>(&result);
    if (response == nullptr) {
      retry.wait_after(error_at(name_of(request.key), std::get<Error>(result)));
      continue;
    }
    if (is_success(request, *response) || std::find(others.begin(), others.end(), response->status) != others.end()) {
      return std::move(*response);
    }
    if (is_mangled(*response) && ++num_mangled == k_most_mangled) {
      throw Error(ErrorCode::io, fmt::format("checksum mismatch after upload ({} attempts)", num_mangled),
                  {.path = name_of(request.key), .hint = "something between here and the server changes them"});
    }
    retry.wait_after(error_of(request.key, *response), response);
  }
}

void ObjectSender::send_briefly(const ObjectRequest& request) const noexcept {
  constexpr std::chrono::milliseconds k_limit{1000};
  try {
    HttpRequest http = signed_request(request);
    http.total_timeout = k_limit;
    http.urgent = true;
    const auto ended = std::make_shared<std::promise<void>>();
    std::future<void> end = ended->get_future();
    HttpClient::instance().submit(std::move(http), [ended](HttpResult) { ended->set_value(); });
    end.wait_for(2 * k_limit);
  } catch (...) {  // the next run tries again
  }
}

Error ObjectSender::error_of(const std::string& key, const HttpResponse& response) const {
  const S3ErrorAnswer answer = parse_s3_error(response.body);
  const std::string name = name_of(key);
  if (is_mangled(response) || response.status == k_conflict) {
    return Error(ErrorCode::retryable, fmt::format("the server refuses what it received: {}", answer.code),
                 {.path = name});
  }
  if (answer.code == "NoSuchBucket") {
    return Error(ErrorCode::not_found, fmt::format("there is no bucket {}", bucket_),
                 {.path = name, .hint = "create it, or check the name and AWS_ENDPOINT_URL"});
  }
  const Error error = location_->error_of(response);
  ErrorContext context = error.context();
  context.path = name;
  if (is_refusal(error)) context.hint.replace(context.hint.find("may read it"), 11, "may read, list and write there");
  const bool is_success_status = response.status >= 200 && response.status < 300;
  if (is_success_status && error.code() != ErrorCode::retryable) {
    return Error(ErrorCode::io, fmt::format("the server refuses it: {}", answer.code), std::move(context));
  }
  return Error(error.code(), error.message(), std::move(context));
}

void ObjectSender::list(const std::string& key, int max_keys,
                        const std::function<void(const S3Object&, std::string key)>& take) const {
  S3ListQuery query{.prefix = prefix_ + key, .max_keys = max_keys};
  list_all_parts(without_secrets(name_), [&](const std::string& token) {
    query.continuation_token = token;
    const std::string url =
        list_objects_url({.endpoint = "http://x", .addressing = S3Addressing::path}, bucket_, query);
    const HttpResponse response = send({.query = url.substr(url.find('?') + 1), .of_bucket = true});
    const S3Listing listing = parse_object_listing(response.body);
    for (const S3Object& object : listing.objects) {
      if (object.key.starts_with(prefix_)) take(object, object.key.substr(prefix_.size()));
    }
    return ListedPart{.next = max_keys == 0 ? listing.continuation_token : "", .first = listing.first_name()};
  });
}

}  // namespace bale
