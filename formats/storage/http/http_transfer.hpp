// HttpTransfer: one request of HttpClient, and the libcurl handle that carries it out.
//
// Threads: made by any thread; all else is called by the client's thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "bale/formats/storage/http/http_client.hpp"
#include "bale/formats/storage/http/libcurl.hpp"

namespace bale {

class HttpTransfer {
 public:
  HttpTransfer(HttpRequest request, std::function<void(HttpResult)> done);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  /// Makes `easy`, which the caller keeps, carry out the request. `certificates`: if the request names none; empty:
  /// libcurl's own.
  void prepare(CURL* easy, const Certificates& certificates);
  /// Tells the caller how the transfer ended.
  void finish(CURLcode code);
  void fail(const Error& error) { done_(error); }

  const std::string& url() const { return request_.url; }
  bool is_urgent() const { return request_.urgent; }
  bool is_cancelled() const { return request_.is_cancelled && *request_.is_cancelled; }
  std::uint64_t expected_bytes() const { return request_.expected_bytes; }
  /// Of the response; 0 if none came.
  long status() const;
  /// How long the server took to begin its answer, after it had the request.
  std::chrono::microseconds answer_time() const;

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(easy_, option, value);
  }
  void set_limits();
  void trust(const Certificates& certificates);
  void set_method();
  void append_header(const std::string& line) { headers_ = curl_slist_append(headers_, line.c_str()); }
  static curl_socket_t on_open(void* self, curlsocktype purpose, curl_sockaddr* address);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  void take_header(std::string_view line);
  static std::size_t on_bytes(char* data, std::size_t size, std::size_t count, void* self);
  bool take(Bytes part);

  HttpRequest request_;
  std::function<void(HttpResult)> done_;
  HttpResponse response_;
  bool stopped_ = false;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> reason_{};
  int socket_error_ = 0;  // errno of the last attempt to make a socket
};

}  // namespace bale
