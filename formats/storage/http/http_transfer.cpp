#include "bale/formats/storage/http/http_transfer.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/base/text/ascii_case.hpp"
#include "bale/formats/base/version.hpp"
#include "bale/formats/storage/http/libcurl.hpp"

namespace bale {
namespace {

ForkMutex calls;

}  // namespace

void start_libcurl() {
  const std::lock_guard lock(calls);
  curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURL* new_curl_handle() {
  const std::lock_guard lock(calls);
  return curl_easy_init();
}

namespace {

constexpr long k_max_redirects = 5;
constexpr long k_buffer_bytes = 256L << 10;

bool may_succeed_later(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

const std::string user_agent = fmt::format("bale/{}", version());

}  // namespace

HttpTransfer::HttpTransfer(HttpRequest request, std::function<void(HttpResult)> done)
    : request_(std::move(request)), done_(std::move(done)) {}

HttpTransfer::~HttpTransfer() { curl_slist_free_all(headers_); }

void HttpTransfer::prepare(CURL* easy, const Certificates& certificates) {
  easy_ = easy;
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, user_agent.c_str());
  set(CURLOPT_ERRORBUFFER, reason_.data());
#if LIBCURL_VERSION_NUM >= 0x075500
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  set(CURLOPT_PATH_AS_IS, 1L);  // keys of S3 may have dots and empty parts
  set(CURLOPT_FOLLOWLOCATION, request_.follow_redirects ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, k_max_redirects);
  set(CURLOPT_FRESH_CONNECT, request_.fresh_connection ? 1L : 0L);
  if (request_.fresh_connection) set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  set(CURLOPT_BUFFERSIZE, k_buffer_bytes);
  trust(request_.certificates.path.empty() ? certificates : request_.certificates);
  set(CURLOPT_OPENSOCKETFUNCTION, &HttpTransfer::on_open);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_WRITEFUNCTION, &HttpTransfer::on_bytes);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  set(CURLOPT_HEADERDATA, this);
  // Cloud machines answer for themselves at link-local addresses, which no proxy reaches.
  if (request_.url.starts_with("http://169.254.")) set(CURLOPT_PROXY, "");
  set_limits();
  set_method();
}

void HttpTransfer::trust(const Certificates& certificates) {
  if (certificates.path.empty()) return;
  set(CURLOPT_CAINFO, certificates.is_directory ? nullptr : certificates.path.c_str());
  set(CURLOPT_CAPATH, certificates.is_directory ? certificates.path.c_str() : nullptr);
}

void HttpTransfer::set_limits() {
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.total_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(std::max<std::uint64_t>(request_.least_bytes_per_s, 1)));
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request_.stall_timeout.count() / 1000)));
}

long HttpTransfer::status() const {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::chrono::microseconds HttpTransfer::answer_time() const {
  curl_off_t sent = 0;
  curl_off_t begun = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &sent);
  curl_easy_getinfo(easy_, CURLINFO_STARTTRANSFER_TIME_T, &begun);
  return std::chrono::microseconds(begun - sent);
}

void HttpTransfer::finish(CURLcode code) {
  response_.status = status();
  if (code == CURLE_OK) return done_(std::move(response_));
  const std::string url = shown_name(request_.url);
  if (code == CURLE_WRITE_ERROR && stopped_) {
    return done_(Error(ErrorCode::interrupted, "the transfer was stopped", {.path = url}));
  }
  if (code == CURLE_WRITE_ERROR) {
    return done_(
        Error(ErrorCode::io, fmt::format("the answer has more than {} bytes", request_.max_body_bytes), {.path = url}));
  }
  if (code == CURLE_COULDNT_CONNECT &&
      (socket_error_ == EMFILE || socket_error_ == ENFILE)) {  // libcurl says only that it failed
    return done_(Error(ErrorCode::retryable, "cannot open a connection", {.path = url, .system_error = socket_error_}));
  }
  const std::string reason = reason_.front() != '\0' ? reason_.data() : curl_easy_strerror(code);
  if (reason.starts_with("Unsupported proxy")) {  // the text continues with the setting, which may hold a password
    return done_(Error(ErrorCode::invalid_argument, "the proxy of this name is not a URL of a proxy that is known",
                       {.path = url, .hint = "write http://HOST:PORT in http_proxy, https_proxy or all_proxy"}));
  }
  const bool is_certificate = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  done_(Error(may_succeed_later(code) ? ErrorCode::retryable : ErrorCode::io, reason,
              {.path = url,
               .hint = !is_certificate ? ""
                       : request_.certificates.path.empty()
                           ? "name the file of trusted certificates in SSL_CERT_FILE"
                           : "AWS_CA_BUNDLE, or ca_bundle of the profile, names the trusted certificates"}));
}

void HttpTransfer::set_method() {
  for (const auto& [name, value] : request_.headers) append_header(name + ": " + value);
  if (request_.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.c_str());
    append_header("Expect:");
    const auto is_type = [](const auto& header) { return header.first == "Content-Type"; };
    if (std::none_of(request_.headers.begin(), request_.headers.end(), is_type)) append_header("Content-Type:");
  }
  set(CURLOPT_HTTPHEADER, headers_);
}

curl_socket_t HttpTransfer::on_open(void* self, curlsocktype /*purpose*/, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  static_cast<HttpTransfer*>(self)->socket_error_ = socket < 0 ? errno : 0;
  return socket < 0 ? CURL_SOCKET_BAD : socket;
}

std::size_t HttpTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<HttpTransfer*>(self)->take_header({data, size * count});
  return size * count;
}

void HttpTransfer::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) return response_.headers.clear();  // of a redirect, or 100 Continue
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(stripped(line.substr(0, colon)));
  name = lower_case(name);
  response_.headers[std::move(name)] = stripped(line.substr(colon + 1));
}

std::size_t HttpTransfer::on_bytes(char* data, std::size_t size, std::size_t count, void* self) {
  const Bytes part = as_bytes(std::string_view(data, size * count));
  return static_cast<HttpTransfer*>(self)->take(part) ? part.size() : 0;
}

bool HttpTransfer::take(Bytes part) {
  if (request_.on_body) {
    if (response_.status == 0) response_.status = status();
    stopped_ = !request_.on_body(response_, part);
    return !stopped_;
  }
  if (response_.body.size() + part.size() > request_.max_body_bytes) return false;
  response_.body.insert(response_.body.end(), part.begin(), part.end());
  return true;
}

}  // namespace bale
