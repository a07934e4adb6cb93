#include "bale/formats/storage/http/http_engine.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/storage/http/http_transfer.hpp"
#include "bale/formats/storage/http/libcurl.hpp"
#include "bale/formats/storage/http/transfer_limit.hpp"

namespace bale {
namespace {

constexpr std::size_t k_max_idle = 64;  // handles
constexpr int k_longest_wait_ms = 1000;

/// The file or directory with the certificates that are trusted: what the environment names, else the system's.
Certificates trusted_certificates() {
  for (const char* name : {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return Certificates::at(value);
  }
  // Debian; Fedora and its relatives; openSUSE; Alpine. A libcurl that was built elsewhere knows one of them only.
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (::access(path, F_OK) == 0) return Certificates::at(path);
  }
  return {};
}

/// Of sockets. The rest of the descriptors is for files.
std::size_t most_transfers() {
  constexpr rlim_t k_descriptor_share = 4;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return TransferLimit::k_most;
  return std::min<std::size_t>(std::max<std::size_t>(limit.rlim_cur / k_descriptor_share, TransferLimit::k_first),
                               TransferLimit::k_most);
}

/// Whether the server asks for fewer requests, or cannot take so many connections.
bool is_refusal(long status, CURLcode code) {
  constexpr long k_too_many_requests = 429;
  constexpr long k_unavailable = 503;
  return status == k_too_many_requests || status == k_unavailable || code == CURLE_COULDNT_CONNECT;
}

class CurlEngine final : public HttpEngine {
 public:
  CurlEngine() : certificates_(trusted_certificates()), multi_(curl_multi_init()), limit_(most_transfers()) {
    if (multi_ == nullptr) throw Error(ErrorCode::io, "libcurl cannot start");
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(most_transfers()));
    try {
      const UnboundThread unbound;
      thread_ = start_thread([this] { run(); });
    } catch (...) {
      curl_multi_cleanup(multi_);
      throw;
    }
  }

  ~CurlEngine() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    for (CURL* const easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }

  void submit(HttpRequest request, std::function<void(HttpResult)> done) override {
    auto transfer = std::make_unique<HttpTransfer>(std::move(request), std::move(done));
    {
      const std::lock_guard lock(mutex_);
      waiting_.insert(transfer->is_urgent() ? waiting_.begin() : waiting_.end(), std::move(transfer));
    }
    curl_multi_wakeup(multi_);
  }

  void look_for_cancelled() override {
    looks_for_cancelled_ = true;
    curl_multi_wakeup(multi_);
  }

 private:
  struct Active {
    std::unique_ptr<HttpTransfer> transfer;
    std::uint64_t number = 0;
  };

  void run() {
    while (start_waiting()) {
      end_cancelled();
      int running = 0;
      curl_multi_poll(multi_, nullptr, 0, k_longest_wait_ms, nullptr);
      curl_multi_perform(multi_, &running);
      take_finished();
    }
    const Error stopped(ErrorCode::interrupted, "the program ends");
    while (!active_.empty()) {
      idle_.push_back(active_.begin()->first);
      remove(active_.begin()).transfer->fail(stopped);
    }
    for (const auto& transfer : waiting_) transfer->fail(stopped);
  }

  /// Returns false if the client is to end.
  bool start_waiting() {
    for (;;) {
      std::unique_ptr<HttpTransfer> next;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) return false;
        if (waiting_.empty()) return true;
        const HttpTransfer& first = *waiting_.front();
        if (!first.is_urgent() && !limit_.has_room(first.expected_bytes())) return true;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      start(std::move(next));
    }
  }

  void start(std::unique_ptr<HttpTransfer> transfer) {
    if (transfer->is_cancelled()) return transfer->fail(Error(ErrorCode::interrupted, "interrupted"));
    CURL* const easy = take_handle();
    if (easy != nullptr) transfer->prepare(easy, certificates_);
    if (easy == nullptr || curl_multi_add_handle(multi_, easy) != CURLM_OK) {
      if (easy != nullptr) curl_easy_cleanup(easy);
      transfer->fail(Error(ErrorCode::io, "libcurl cannot start a transfer", {.path = shown_name(transfer->url())}));
      return;
    }
    const std::uint64_t number = limit_.begin(transfer->expected_bytes());
    active_.emplace(easy, Active{std::move(transfer), number});
  }

  /// A handle that was used before keeps its buffers.
  CURL* take_handle() {
    if (idle_.empty()) return new_curl_handle();
    CURL* const easy = idle_.back();
    idle_.pop_back();
    return easy;
  }

  Active remove(std::map<CURL*, Active>::iterator at) {
    CURL* const easy = at->first;
    Active active = std::move(at->second);
    curl_multi_remove_handle(multi_, easy);
    active_.erase(at);
    limit_.end(active.transfer->expected_bytes());
    return active;
  }

  void give_back(CURL* easy) {
    if (idle_.size() >= k_max_idle) return curl_easy_cleanup(easy);
    curl_easy_reset(easy);
    idle_.push_back(easy);
  }

  void end_cancelled() {
    if (!looks_for_cancelled_.exchange(false)) return;
    for (auto at = active_.begin(); at != active_.end();) {
      const auto next = std::next(at);
      if (at->second.transfer->is_cancelled()) {
        CURL* const easy = at->first;
        const Active ended = remove(at);
        ended.transfer->fail(Error(ErrorCode::interrupted, "interrupted"));
        curl_easy_cleanup(easy);
      }
      at = next;
    }
  }

  void take_finished() {
    int left = 0;
    while (CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      const CURLcode code = message->data.result;  // the message ends with its handle
      const Active ended = remove(active_.find(easy));
      adapt(ended, code);
      ended.transfer->finish(code);
      give_back(easy);
    }
  }

  void adapt(const Active& ended, CURLcode code) {
    const long status = ended.transfer->status();
    if (is_refusal(status, code)) {
      limit_.refused(ended.number);
    } else if (code == CURLE_OK) {
      const std::lock_guard lock(mutex_);
      limit_.answered(ended.transfer->answer_time(), !waiting_.empty());
    }
  }

  const Certificates certificates_;
  CURLM* const multi_;
  // Used by the thread only.
  TransferLimit limit_;
  std::map<CURL*, Active> active_;
  std::vector<CURL*> idle_;  // handles without a transfer

  std::atomic<bool> looks_for_cancelled_{false};
  std::mutex mutex_;
  std::deque<std::unique_ptr<HttpTransfer>> waiting_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<HttpEngine> make_http_engine() {
  start_libcurl();
  return std::make_unique<CurlEngine>();
}

std::time_t parse_http_time(const std::string& text) { return curl_getdate(text.c_str(), nullptr); }

}  // namespace bale
