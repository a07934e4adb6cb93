// Retry: how long to wait before a failed request is made again, and when to end.
//
// Exponential backoff with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015), or what the
// server asks for in Retry-After. Threads: one object per thread.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <string>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

/// BALE_NETWORK_TIMEOUT in seconds, by default 120. Throws `invalid_argument` if it is not a number from 1 to 86,400.
std::chrono::seconds network_timeout();

/// The error of a request as one of `name`, as the user wrote it: an URL may be signed, or one to which a server moved.
Error error_at(const std::string& name, const Error& error);

class Retry {
 public:
  /// The time limit counts from here.
  explicit Retry(std::chrono::seconds limit = network_timeout());

  /// Waits before the next try. Throws `error` if it is not `retryable`, and if the time is over, then with the number
  /// of tries; and what poll_remote_wait() throws. `response`: the last one, if there was one.
  void wait_after(const Error& error, const HttpResponse* response = nullptr);
  /// Sets the limits of a request that is made now, so that it ends in time. `num_bytes` of it are waited for: a server
  /// that is so slow that they would not come within the time limit is an error, too.
  void set_limits(HttpRequest& request, std::uint64_t num_bytes = 0) const;
  std::chrono::steady_clock::time_point end() const { return begin_ + limit_; }
  std::chrono::steady_clock::time_point middle() const { return begin_ + limit_ / 2; }
  /// After a failed request that brought a part of what it was for: the next pause is short again. The time limit
  /// stays.
  void made_progress() { num_failures_ = 0; }
  unsigned num_failures() const { return num_failures_; }

 private:
  const std::chrono::seconds limit_;
  const std::chrono::steady_clock::time_point begin_;
  unsigned num_failures_ = 0;
  std::optional<std::minstd_rand> random_{};  // made when it is needed: asking the system for randomness takes long
};

}  // namespace bale
