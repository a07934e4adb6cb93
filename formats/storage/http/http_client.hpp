// HttpClient: HTTP requests of this process, all carried out by one thread with libcurl's multi interface.
//
// It knows nothing of retries, signatures and caches: see retry.hpp. Redirects of GET requests are followed;
// an Authorization header is not sent to another host.
//
// Threads: any number may call. Processes: the thread is started by the first request, so fork before that; a child of
// fork() that uses the client gets a new one.
// Errors: a response of any status is a result. `retryable` if no complete response came: the connection failed, was
// cut or stalled. `io` if trying again cannot help: a certificate that is not trusted, a malformed URL.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/url_scheme.hpp"

namespace bale {

// Certificates: the authorities that a TLS connection trusts, in one file or in a directory of OpenSSL's.

struct Certificates {
  std::string path{};  // empty: none are named
  bool is_directory = false;

  /// Looks once what the path is. What is not there counts as a file: libcurl reports it.
  static Certificates at(std::string path) {
    std::error_code ignored;
    const bool is_directory = std::filesystem::is_directory(path, ignored);
    return {std::move(path), is_directory};
  }
};

struct HttpResponse {
  long status = 0;
  std::map<std::string, std::string> headers{};  // of the last response, names in lower case
  std::vector<std::byte> body{};

  /// Value of a header; empty if there is none. `name` is in lower case.
  std::string header(const std::string& name) const;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url{};  // percent-encoded
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};  // of PUT and POST
  /// Called on the client's thread with each part of the body, as it comes, and with status and headers. The body is
  /// then not kept. Returns false to end the transfer, which is then an `interrupted` error. Must not block for long or
  /// throw.
  std::function<bool(const HttpResponse& head, Bytes part)> on_body{};
  std::uint64_t max_body_bytes = std::uint64_t{64} << 20;   // without on_body: a longer response is an `io` error
  std::shared_ptr<const std::atomic<bool>> is_cancelled{};  // if it becomes true, the transfer ends as `interrupted`
  bool urgent = false;               // at once; others wait while many are under way (transfer_limit.hpp)
  std::uint64_t expected_bytes = 0;  // of the answer, if it is known
  bool fresh_connection = false;     // do not reuse a connection, and resolve the host again
  bool follow_redirects = true;
  Certificates certificates{};  // those that are trusted; none: those of this process
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds stall_timeout{30'000};  // longest time with less than least_bytes_per_s; in whole seconds
  std::uint64_t least_bytes_per_s = 1;
  std::chrono::milliseconds total_timeout{0};          // 0: none
  std::function<std::unique_ptr<UrlSource>()> open{};  // answers instead of a server, if it is set
};

using HttpResult = std::variant<HttpResponse, Error>;

class HttpEngine;

class HttpClient {
 public:
  /// The client of this process.
  static HttpClient& instance();

  /// Starts a request. `done` is called once, on the client's thread: it must not block or throw.
  void submit(HttpRequest request, std::function<void(HttpResult)> done);
  /// Carries out a request and waits for it. Throws what poll_remote_wait() throws; the request has ended then, too.
  /// If `is_late` returns true, which is asked several times per second, the request ends as `retryable`.
  /// Must not be called from a `done`.
  HttpResult carry_out(HttpRequest request, const std::function<bool()>& is_late = {});
  /// To be called after `is_cancelled` of a request became true: it ends soon after.
  void look_for_cancelled();
  /// Carries out a request and waits for it. Throws the errors above. Must not be called from a `done`.
  HttpResponse perform(HttpRequest request);

  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

 private:
  HttpClient();
  std::unique_ptr<HttpEngine> engine_;
};

// SourceTransport: answers requests for files that a program opens (url_scheme.hpp) as a web server would, with ranges
// and ETags, by a few threads that may wait. So such files are read through the cache as those of servers are.
//
// The version is compared before and after each part is read.
//
// Threads: any number may call. Processes: a child of fork() that uses it gets threads of its own.

/// Carries out a request that has `open` on one of the threads, for HttpClient::submit(). `done` is called once, on
/// that thread.
void submit_to_source(HttpRequest request, std::function<void(HttpResult)> done);

}  // namespace bale
