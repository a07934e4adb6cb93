// Hedge: when a request is worth sending a second time, because its answer takes much longer than others of that host.
//
// Dean and Barroso, "The Tail at Scale", Communications of the ACM 56 (2013): a second request, sent when the first has
// waited for longer than nearly all others did, cuts the longest waits at a few percent more requests. Here it is sent
// after twice the 95th percentile of the last first-byte times of the host, and at most for 1 request of 20, so that
// servers which answer evenly are asked once.
//
// Threads: any number may call.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace bale {

class Hedge {
 public:
  /// The one of this process for the host of the URL.
  static std::shared_ptr<Hedge> of_host(std::string_view url);

  /// To be called for each request that could be sent twice.
  void note_request();
  void note_first_byte_after(std::chrono::milliseconds waited);
  /// How long to wait for the first byte before a second request; nullopt if not enough answers are known yet.
  std::optional<std::chrono::milliseconds> delay() const;
  /// Whether a second request may be sent now. If so, it is counted.
  bool take();

 private:
  mutable std::mutex mutex_;
  std::deque<std::chrono::milliseconds> waits_;  // the last ones, the newest at the end
  double budget_ = 0;                            // requests that may be sent twice
};

}  // namespace bale
