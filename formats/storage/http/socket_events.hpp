// SocketEvents: waits for the sockets of a libcurl multi handle and tells libcurl which are ready. The work per event
// does not grow with the number of transfers, as that of curl_multi_perform() does.
//
// Threads: wake_up() may be called by any thread, the others by one.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "bale/formats/storage/http/libcurl.hpp"

namespace bale {

class SocketEvents {
 public:
  /// Throws `io`.
  explicit SocketEvents(CURLM* multi);
  ~SocketEvents();
  SocketEvents(const SocketEvents&) = delete;
  SocketEvents& operator=(const SocketEvents&) = delete;

  /// Waits until a socket is ready, a timer of libcurl is over, or wake_up() was called, and has libcurl continue.
  void wait_and_act();
  /// The present or next wait_and_act() does not wait.
  void wake_up();

 private:
  using Clock = std::chrono::steady_clock;
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  void watch(curl_socket_t socket, int what, bool is_known);
  int timeout_ms() const;

  CURLM* const multi_;
  int poll_ = -1;
  int wake_ = -1;
  std::atomic<bool> is_woken_{false};
  std::optional<Clock::time_point> timer_{};
};

}  // namespace bale
