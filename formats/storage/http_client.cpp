#include "bale/formats/storage/http_client.hpp"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/file_transport.hpp"
#include "bale_version.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_active = 48;  // transfers at a time; others wait
constexpr long k_max_redirects = 5;
constexpr int k_poll_ms = 1000;
constexpr std::chrono::milliseconds k_poll_interval{100};

/// The file with the certificates that are trusted: the one that the environment names, else the system's.
std::string certificate_file() {
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  // Debian; Fedora and its relatives; openSUSE; Alpine. A libcurl that was built elsewhere knows one of them only.
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (path_exists(path)) return path;
  }
  return {};
}

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

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view k_blank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(k_blank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(k_blank) - begin + 1);
}

/// One request in progress, and the libcurl handle that carries it out.
class Transfer {
 public:
  Transfer(HttpRequest request, std::function<void(HttpResult)> done)
      : request_(std::move(request)), done_(std::move(done)) {}
  ~Transfer() {
    if (easy_ != nullptr) curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* start(const std::string& certificates) {
    easy_ = curl_easy_init();
    if (easy_ == nullptr) return nullptr;
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, user_agent().c_str());
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
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.total_timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(std::max<std::uint64_t>(request_.least_bytes_per_s, 1)));
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request_.stall_timeout.count() / 1000)));
    set(CURLOPT_FRESH_CONNECT, request_.fresh_connection ? 1L : 0L);
    if (request_.fresh_connection) set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    set(CURLOPT_BUFFERSIZE, 256L << 10);
    if (!certificates.empty()) set(CURLOPT_CAINFO, certificates.c_str());
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_bytes);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    // Cloud machines answer for themselves at link-local addresses, which no proxy reaches.
    if (request_.url.starts_with("http://169.254.")) set(CURLOPT_PROXY, "");
    set_method();
    return easy_;
  }

  /// Tells the caller how the transfer ended.
  void finish(CURLcode code) {
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response_.status);
    if (code == CURLE_OK) return done_(std::move(response_));
    const std::string url = shown_name(request_.url);
    if (code == CURLE_WRITE_ERROR && stopped_) {
      return done_(Error(ErrorCode::interrupted, "the transfer was stopped", {.path = url}));
    }
    if (code == CURLE_WRITE_ERROR) {
      return done_(Error(ErrorCode::io, fmt::format("the answer has more than {} bytes", request_.max_body_bytes),
                         {.path = url}));
    }
    const std::string reason = reason_.front() != '\0' ? reason_.data() : curl_easy_strerror(code);
    const bool is_certificate = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
    done_(Error(may_succeed_later(code) ? ErrorCode::retryable : ErrorCode::io, reason,
                {.path = url, .hint = is_certificate ? "name the file of trusted certificates in SSL_CERT_FILE" : ""}));
  }

  void fail(const Error& error) { done_(error); }
  const std::string& url() const { return request_.url; }
  bool is_urgent() const { return request_.urgent; }
  bool is_cancelled() const { return request_.is_cancelled && *request_.is_cancelled; }

 private:
  static const std::string& user_agent() {
    static const std::string text = fmt::format("bale/{}", k_version_text);
    return text;
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(easy_, option, value);
  }

  void set_method() {
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

  void append_header(const std::string& line) { headers_ = curl_slist_append(headers_, line.c_str()); }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Transfer*>(self)->take_header({data, size * count});
    return size * count;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) return response_.headers.clear();  // of a redirect, or 100 Continue
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(trimmed(line.substr(0, colon)));
    std::transform(name.begin(), name.end(), name.begin(), lower);
    response_.headers[std::move(name)] = trimmed(line.substr(colon + 1));
  }

  static std::size_t on_bytes(char* data, std::size_t size, std::size_t count, void* self) {
    const Bytes part = as_bytes(std::string_view(data, size * count));
    return static_cast<Transfer*>(self)->take(part) ? part.size() : 0;
  }

  bool take(Bytes part) {
    if (request_.on_body) {
      if (response_.status == 0) curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response_.status);
      stopped_ = !request_.on_body(response_, part);
      return !stopped_;
    }
    if (response_.body.size() + part.size() > request_.max_body_bytes) return false;
    response_.body.insert(response_.body.end(), part.begin(), part.end());
    return true;
  }

  HttpRequest request_;
  std::function<void(HttpResult)> done_;
  HttpResponse response_;
  bool stopped_ = false;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> reason_{};
};

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

class HttpClient::Engine {
 public:
  Engine() : certificates_(certificate_file()) {
    multi_ = curl_multi_init();
    if (multi_ == nullptr) throw Error(ErrorCode::io, "libcurl cannot start");
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(k_max_active));
    thread_ = std::thread([this] { run(); });
  }

  ~Engine() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  void submit(std::unique_ptr<Transfer> transfer) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.insert(transfer->is_urgent() ? waiting_.begin() : waiting_.end(), std::move(transfer));
    }
    wake_up();
  }

  void wake_up() { curl_multi_wakeup(multi_); }

 private:
  void run() {
    while (start_waiting()) {
      end_cancelled();
      int running = 0;
      curl_multi_perform(multi_, &running);
      take_finished();
      curl_multi_poll(multi_, nullptr, 0, k_poll_ms, nullptr);
    }
    const Error stopped(ErrorCode::interrupted, "the program ends");
    for (auto& [easy, transfer] : active_) {
      curl_multi_remove_handle(multi_, easy);
      transfer->fail(stopped);
    }
    for (const auto& transfer : waiting_) transfer->fail(stopped);
    active_.clear();
  }

  /// Returns false if the client is to end.
  bool start_waiting() {
    for (;;) {
      std::unique_ptr<Transfer> next;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) return false;
        if (waiting_.empty() || (active_.size() >= k_max_active && !waiting_.front()->is_urgent())) return true;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      CURL* const easy = next->start(certificates_);
      if (easy == nullptr || curl_multi_add_handle(multi_, easy) != CURLM_OK) {
        next->fail(Error(ErrorCode::io, "libcurl cannot start a transfer", {.path = shown_name(next->url())}));
        continue;
      }
      active_.emplace(easy, std::move(next));
    }
    const std::lock_guard lock(mutex_);
    return !stop_;
  }

  void end_cancelled() {
    for (auto at = active_.begin(); at != active_.end();) {
      if (!at->second->is_cancelled()) {
        ++at;
        continue;
      }
      curl_multi_remove_handle(multi_, at->first);
      at->second->fail(Error(ErrorCode::interrupted, "interrupted"));
      at = active_.erase(at);
    }
  }

  void take_finished() {
    int left = 0;
    while (CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      const CURLcode code = message->data.result;  // the message ends with its handle
      curl_multi_remove_handle(multi_, easy);
      const auto found = active_.find(easy);
      const std::unique_ptr<Transfer> transfer = std::move(found->second);
      active_.erase(found);
      transfer->finish(code);
    }
  }

  const std::string certificates_;
  CURLM* multi_ = nullptr;
  std::map<CURL*, std::unique_ptr<Transfer>> active_;  // used by the thread only
  std::mutex mutex_;
  std::deque<std::unique_ptr<Transfer>> waiting_;
  bool stop_ = false;
  std::thread thread_;
};

HttpClient::HttpClient() : engine_(std::make_unique<Engine>()) {}
HttpClient::~HttpClient() = default;

HttpClient& HttpClient::instance() {
  // A child of fork() has no thread, so it makes a client of its own and leaves the copy of the parent's alone.
  struct OfProcess {
    ~OfProcess() {
      if (owner == ::getpid()) delete client;
    }
    HttpClient* client = nullptr;
    pid_t owner = 0;
  };
  static std::mutex mutex;
  // First, so that `here` is destroyed before OpenSSL cleans up at exit.
  [[maybe_unused]] static const CURLcode is_ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  static OfProcess here;
  const std::lock_guard lock(mutex);
  if (here.owner != ::getpid()) {
    here.client = new HttpClient();
    here.owner = ::getpid();
  }
  return *here.client;
}

void HttpClient::submit(HttpRequest request, std::function<void(HttpResult)> done) {
  if (is_file_url(request.url)) return submit_to_files(std::move(request), std::move(done));
  engine_->submit(std::make_unique<Transfer>(std::move(request), std::move(done)));
}

HttpResult HttpClient::carry_out(HttpRequest request) {
  std::promise<HttpResult> promise;
  std::future<HttpResult> result = promise.get_future();
  const auto is_cancelled = std::make_shared<std::atomic<bool>>(false);
  request.is_cancelled = is_cancelled;
  request.urgent = true;  // somebody waits for it
  submit(std::move(request), [&promise](HttpResult ended) { promise.set_value(std::move(ended)); });
  try {
    while (result.wait_for(k_poll_interval) != std::future_status::ready) poll_remote_wait();
  } catch (...) {
    *is_cancelled = true;
    look_for_cancelled();
    result.wait();
    throw;
  }
  return result.get();
}

void HttpClient::look_for_cancelled() { engine_->wake_up(); }

HttpResponse HttpClient::perform(HttpRequest request) {
  HttpResult ended = carry_out(std::move(request));
  if (auto* const error = std::get_if<Error>(&ended)) throw Error(*error);
  return std::get<HttpResponse>(std::move(ended));
}

}  // namespace bale
